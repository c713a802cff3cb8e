// What was burnt so far, as `joulery run` tells it on a page beside the mark rings (src/watch/energy_page.h of Joulery).
'use strict';

const fs = require('fs');
const path = require('path');

const MAGIC = 0x3147504e454c554an, LAYOUT = 1;
const WANTED_AT = 16, SEQUENCE_AT = 24, FIGURES_AT = 32, FIGURES = 512;
const KNOWN = 1, PARTIAL = 2;
const QUALITIES = ['measured', 'integrated', 'derived', 'estimated', 'missing'];
const TOO_OLD_S = 60, TRIES = 1000;

function readFigures(file) {
  const head = Buffer.alloc(16), word = Buffer.alloc(8), figures = Buffer.alloc(FIGURES);
  const read = (into, at) => fs.readSync(file, into, 0, into.length, at) === into.length;
  if (!read(head, 0) || head.readBigUInt64LE(0) !== MAGIC || head.readUInt32LE(8) !== LAYOUT) return null;
  word.writeBigUInt64LE(1n);
  fs.writeSync(file, word, 0, 8, WANTED_AT); // then it is told more often
  for (let i = 0; i < TRIES; ++i) {
    if (!read(word, SEQUENCE_AT)) return null;
    const before = word.readBigUInt64LE();
    if (!read(figures, FIGURES_AT) || !read(word, SEQUENCE_AT)) return null;
    if (before % 2n === 0n && before === word.readBigUInt64LE()) return figures;
  }
  return null;
}

function unknown(reason) {
  return {joules: null, low: null, high: null, quality: 'missing', watts: null, partial: true, missing: '', reason, begin: 0, until: 0, ahead: 0,
    holes: 0, seconds: Number(process.hrtime.bigint()) * 1e-9};
}

function parse(figures) {
  const now = Number(process.hrtime.bigint()) * 1e-9;
  const ns = (at) => Number(figures.readBigInt64LE(at)) * 1e-9;
  const joulesAt = (at) => Number(figures.readBigInt64LE(at)) * 1e-6;
  const flags = figures.readUInt32LE(60), watts = figures.readDoubleLE(40), until = ns(8), age = now - until;
  const missing = figures.toString('utf8', 64, figures.indexOf(0, 64) < 0 ? FIGURES : figures.indexOf(0, 64));
  const told = {...unknown(''), missing, begin: ns(0), until, holes: Number(figures.readBigUInt64LE(48)), seconds: now};
  if (!(flags & KNOWN)) return {...told, reason: missing || 'no meter has been read yet'};
  if (age > TOO_OLD_S) return {...told, reason: `the last reading is ${Math.round(age)} s old`};
  const ahead = watts >= 0 ? watts * age : 0; // since the last reading; it may have been nothing, or twice as much
  return {...told, joules: joulesAt(16) + ahead, low: joulesAt(24), high: joulesAt(32) + 2 * ahead, ahead,
    quality: QUALITIES[Math.min(figures.readUInt32LE(56), 4)], watts: watts >= 0 ? watts : null, partial: (flags & PARTIAL) !== 0};
}

// What was burnt since the program began; `joules` is null, never 0, where that is not known, and `reason` says why.
function energy(directory = process.env.JOULERY_RING) {
  if (!directory || !path.isAbsolute(directory)) return unknown('no `joulery run` around this program');
  let file;
  try {
    file = fs.openSync(path.join(directory, 'energy.page'), fs.constants.O_RDWR | fs.constants.O_NOFOLLOW);
    const figures = readFigures(file);
    return figures ? parse(figures) : unknown('this `joulery run` tells no energy');
  } catch {
    return unknown('this `joulery run` tells no energy');
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

// The energy between two of them.
function spent(earlier, later) {
  const seconds = later.seconds - earlier.seconds;
  const fresh = earlier.joules === null && earlier.begin !== 0 && earlier.until === 0; // the count had just begun
  let start = earlier.joules;
  if (fresh && later.joules !== null && later.begin === earlier.begin)
    start = later.joules * (earlier.seconds - earlier.begin) / (later.seconds - later.begin);
  let reason = (start === null ? earlier.reason : '') || later.reason;
  if (!reason && earlier.begin !== later.begin) reason = 'the two readings do not count from the same instant';
  if (!reason && (earlier.until >= later.until || later.joules < start)) reason = 'shorter than the time between two readings of the meters';
  if (reason) return {joules: null, watts: null, seconds, quality: 'missing', partial: true, reason};
  const joules = later.joules - start;
  return {joules, watts: seconds > 0 ? joules / seconds : null, seconds, quality: later.quality,
    partial: later.partial || later.holes !== earlier.holes, reason: ''};
}

module.exports = {energy, spent};
