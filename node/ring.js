// This process's mark ring, written as a file. The layout is that of src/watch/mark_ring.h; docs/decisions/0023 says why a file.
//
// Node has no shared memory in its core, but the reader reads the ring with pread: what pwrite puts into the page cache it sees at
// once, in the order of the writes. So a record is written whole but for its commit word, then its commit word, then the
// lane's head: the reader looks at nothing beyond the head, and at no record whose commit word is not its own.
//
// Invariant: only this file's own thread writes; each worker thread has a ring of its own. Whatever goes wrong, marks are dropped and
// the program goes on: nothing here throws.
'use strict';

const fs = require('fs');
const os = require('os');
const path = require('path');
const { threadId } = require('worker_threads');

const MAGIC = 0x31474e52594c554an, LAYOUT = 2, MONOTONIC_NS = 0;
const NAMES = 1024, NAME_BYTES = 119, NAMES_AT = 4096, NAME_SIZE = 128;
const LANE_RECORDS = 32768, RECORDS = 57344, RECORD_SIZE = 32;
const RECORDS_AT = NAMES_AT + NAMES * NAME_SIZE, RING_BYTES = RECORDS_AT + RECORDS * RECORD_SIZE;
const LOST_AT = 64, HEAD_AT = 192, TAIL_AT = HEAD_AT + 64;
const NOBODY = { put() {}, active: false, lost: 0 };

// Names are at most 119 bytes of UTF-8, and no character is cut in two.
function bytesOf(name) {
  let bytes = Buffer.from(String(name), 'utf8');
  if (bytes.length <= NAME_BYTES) return bytes;
  let keep = NAME_BYTES;
  while (keep > 0 && (bytes[keep] & 0xc0) === 0x80) --keep;
  return bytes.subarray(0, keep);
}

class Ring {
  constructor(directory) {
    this.active = true;
    this.lost = 0;
    this.next = 0;          // sequence number of the next record; 2^53 of them do not come
    this.tail = 0;          // as the reader told last
    this.ids = new Map();
    this.record = Buffer.alloc(RECORD_SIZE);
    this.word = Buffer.alloc(8);
    this.path = path.join(directory, `${process.pid}.${process.hrtime.bigint().toString(16)}${threadId ? `t${threadId}` : ''}.ring`);
    this.file = fs.openSync(this.path, fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW, 0o600);
    try {
      this.describe();
    } catch (error) {
      this.fail();
      throw error;
    }
  }

  // The magic number last: before it there is no ring. The room is taken now, not when a mark needs it.
  describe() {
    fs.writeSync(this.file, Buffer.alloc(RING_BYTES), 0, RING_BYTES, 0);
    const header = Buffer.alloc(28);
    header.writeUInt32LE(LAYOUT, 8);
    header.writeInt32LE(process.pid, 12);
    header.writeUInt32LE(NAMES, 16);
    header.writeUInt32LE(RECORDS, 20);
    header.writeUInt32LE(MONOTONIC_NS, 24);
    fs.writeSync(this.file, header, 8, 20, 8);
    this.word.writeBigUInt64LE(MAGIC);
    fs.writeSync(this.file, this.word, 0, 8, 0);
  }

  // Tells the reader that this process is not heard.
  fail() {
    this.active = false;
    try {
      fs.ftruncateSync(this.file, 0);
      fs.renameSync(this.path, this.path.replace(/\.ring$/, '.failed'));
    } catch { /* then it stays untold */ }
    try { fs.closeSync(this.file); } catch { /* closed */ }
  }

  writeWord(value, at) {
    this.word.writeBigUInt64LE(BigInt(value));
    fs.writeSync(this.file, this.word, 0, 8, at);
  }

  // The id of a name, 0 where there is no room: its text first, its length last.
  id(name) {
    let id = this.ids.get(name);
    if (id !== undefined) return id;
    const bytes = bytesOf(name);
    if (bytes.length === 0 || this.ids.size >= NAMES) return 0;
    id = this.ids.size + 1;
    const at = NAMES_AT + (id - 1) * NAME_SIZE;
    fs.writeSync(this.file, bytes, 0, bytes.length, at + 8);
    this.writeWord(bytes.length, at);
    this.ids.set(name, id);
    return id;
  }

  isFull() {
    if (this.next - this.tail < LANE_RECORDS) return false;
    fs.readSync(this.file, this.word, 0, 8, TAIL_AT);
    this.tail = Number(this.word.readBigUInt64LE());
    return this.next - this.tail >= LANE_RECORDS;
  }

  put(kind, name, value) {
    const time = process.hrtime.bigint();  // CLOCK_MONOTONIC
    try {
      const id = Number.isFinite(value) ? this.id(name) : 0;
      if (id === 0 || this.isFull()) {
        this.writeWord(++this.lost, LOST_AT);
        return;
      }
      const at = RECORDS_AT + (this.next % LANE_RECORDS) * RECORD_SIZE;
      this.record.writeBigUInt64LE(time, 8);
      this.record.writeDoubleLE(value, 16);
      this.record.writeUInt32LE(threadId ? threadId : process.pid, 24);
      this.record.writeUInt16LE(id, 28);
      this.record.writeUInt16LE(kind, 30);
      fs.writeSync(this.file, this.record, 8, RECORD_SIZE - 8, at + 8);
      this.writeWord(this.next + 1, at);
      this.writeWord(++this.next, HEAD_AT);
    } catch {
      this.active = false;  // the ring is gone: the run is over, or its folder was removed
      this.put = NOBODY.put;
    }
  }
}

function open() {
  const directory = process.env.JOULERY_RING;
  if (!directory || !path.isAbsolute(directory) || os.endianness() !== 'LE') return NOBODY;
  try {
    return new Ring(directory);
  } catch {
    return NOBODY;
  }
}

module.exports = { open };
