// A mark ring of this process, as src/watch/mark_ring.h of Joulery lays it out, written with plain file writes: Node has no mmap,
// and an addon would need a compiler where the package is installed. The ring lies in shared memory, so a write is a copy.
//
// Order: the record's body, then its commit word, then the lane's head: a reader never sees a head before what it counts. Only this
// thread writes the file (a worker thread has a ring of its own), so nothing is claimed by compare-and-swap; the shared lane is used.
// Where anything at all goes wrong the ring is inactive: marks never throw, and never stop the program.
'use strict';

const fs = require('fs');
const path = require('path');
const worker = require('worker_threads');

const MAGIC = 0x31474e52594c554an; // "JULYRNG1"
const LAYOUT = 2;
const NAMES = 1024, NAME_BYTES = 119, NAME_SLOT = 128, NAMES_AT = 4096;
const SHARED_RECORDS = 32768, RECORDS = 57344, RECORD = 32, RECORDS_AT = NAMES_AT + NAMES * NAME_SLOT;
const BYTES = RECORDS_AT + RECORDS * RECORD;
const LOST_AT = 64, HEAD_AT = 192, TAIL_AT = 256;
const STEP_BEGIN = 0, STEP_END = 1, POINT = 2, KPI = 3, WORK = 4;
const NAMES_LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1; // all numbers are in the machine's own byte order

// At most NAME_BYTES, never cutting a UTF-8 sequence.
function nameBytes(text) {
  const bytes = Buffer.from(text, 'utf8');
  let keep = Math.min(bytes.length, NAME_BYTES);
  while (keep > 0 && keep < bytes.length && (bytes[keep] & 0xc0) === 0x80) --keep;
  return bytes.subarray(0, keep);
}

class Ring {
  // The ring in the directory that `joulery run` names, or null where there is none or none can be made.
  static open(directory) {
    if (!directory || !path.isAbsolute(directory) || !NAMES_LITTLE) return null;
    let file = -1;
    const name = path.join(directory, `${process.pid}.${process.hrtime.bigint().toString(16)}${worker.threadId || ''}.ring`);
    try {
      file = fs.openSync(name, fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW, 0o600);
      fs.writeSync(file, Buffer.alloc(BYTES), 0, BYTES, 0); // room for all of it, taken now
      return new Ring(file);
    } catch {
      if (file >= 0) {
        try {
          fs.ftruncateSync(file, 0);
          fs.renameSync(name, name.replace(/\.ring$/, '.failed')); // tells that this process is not heard
        } catch { /* then nobody is told */ }
        try { fs.closeSync(file); } catch { /* it is gone */ }
      }
      return null;
    }
  }

  constructor(file) {
    this.file = file;
    this.head = 0;
    this.tail = 0;
    this.lostCount = 0;
    this.ids = new Map();
    this.record = Buffer.alloc(RECORD);
    this.word = Buffer.alloc(8);
    const header = Buffer.alloc(32);
    header.writeUInt32LE(LAYOUT, 8);
    header.writeInt32LE(process.pid, 12);
    header.writeUInt32LE(NAMES, 16);
    header.writeUInt32LE(RECORDS, 20);
    header.writeUInt32LE(0, 24); // its clock: CLOCK_MONOTONIC, which is process.hrtime()'s
    fs.writeSync(file, header, 8, 24, 8);
    this.put(MAGIC, 0);
  }

  put(value, at) {
    this.word.writeBigUInt64LE(BigInt(value));
    fs.writeSync(this.file, this.word, 0, 8, at);
  }

  // A number for a name; 0 where there is none, or no room for more.
  id(name) {
    let id = this.ids.get(name);
    if (id !== undefined) return id;
    const bytes = nameBytes(name);
    if (bytes.length === 0 || this.ids.size >= NAMES) return 0;
    id = this.ids.size + 1;
    const at = NAMES_AT + (id - 1) * NAME_SLOT;
    fs.writeSync(this.file, bytes, 0, bytes.length, at + 8);
    this.put(bytes.length, at); // stored last: before that there is no name
    this.ids.set(name, id);
    return id;
  }

  lose() {
    ++this.lostCount;
    try { this.put(this.lostCount, LOST_AT); } catch { /* the ring is gone */ }
  }

  isFull() {
    if (this.head - this.tail < SHARED_RECORDS) return false;
    fs.readSync(this.file, this.word, 0, 8, TAIL_AT);
    this.tail = Number(this.word.readBigUInt64LE());
    return this.head - this.tail >= SHARED_RECORDS;
  }

  place(kind, name, value) {
    const now = process.hrtime.bigint();
    if (kind === STEP_BEGIN && !Number.isFinite(value)) value = 0; // the step is real, its size is not said
    try {
      const id = typeof name === 'string' ? this.id(name) : 0;
      if (id === 0 || !Number.isFinite(value) || this.isFull()) return this.lose();
      const record = this.record;
      record.writeBigUInt64LE(now, 8);
      record.writeDoubleLE(value, 16);
      record.writeUInt32LE((process.pid + worker.threadId) >>> 0, 24);
      record.writeUInt16LE(id, 28);
      record.writeUInt16LE(kind, 30);
      const at = RECORDS_AT + (this.head % SHARED_RECORDS) * RECORD;
      fs.writeSync(this.file, record, 8, RECORD - 8, at + 8);
      this.put(this.head + 1, at);
      this.put(++this.head, HEAD_AT);
    } catch {
      this.lose();
    }
  }
}

module.exports = {Ring, STEP_BEGIN, STEP_END, POINT, KPI, WORK};
