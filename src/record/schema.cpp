#include "record/schema.h"

namespace joulery {

const char* const recording_schema = R"sql(
CREATE TABLE metadata (name TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE device (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, interval_ns INTEGER NOT NULL);
CREATE TABLE channel (
  device INTEGER NOT NULL, position INTEGER NOT NULL, component TEXT NOT NULL, name TEXT NOT NULL,
  measurand TEXT NOT NULL, behaviour TEXT NOT NULL, unit REAL NOT NULL, range INTEGER NOT NULL,
  update_period_ns INTEGER NOT NULL, averaging_window_ns INTEGER NOT NULL, scope TEXT NOT NULL,
  accuracy_relative REAL NOT NULL, accuracy_watts REAL NOT NULL, max_watts REAL NOT NULL, always_burns INTEGER NOT NULL,
  PRIMARY KEY (device, position)) WITHOUT ROWID;

CREATE TABLE chunk (
  id INTEGER PRIMARY KEY, device INTEGER NOT NULL, first INTEGER NOT NULL, rounds INTEGER NOT NULL,
  begin_us INTEGER NOT NULL, end_us INTEGER NOT NULL, missing INTEGER NOT NULL, crc32 INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX chunk_by_device ON chunk (device, first);
CREATE TABLE chunk_summary (
  chunk INTEGER NOT NULL, channel INTEGER NOT NULL, first_raw INTEGER NOT NULL, last_raw INTEGER NOT NULL,
  min_raw INTEGER NOT NULL, max_raw INTEGER NOT NULL, missing INTEGER NOT NULL, monotone INTEGER NOT NULL,
  PRIMARY KEY (chunk, channel)) WITHOUT ROWID;
CREATE TABLE tail (
  id INTEGER PRIMARY KEY, device INTEGER NOT NULL, first INTEGER NOT NULL, rounds INTEGER NOT NULL,
  begin_us INTEGER NOT NULL, end_us INTEGER NOT NULL, missing INTEGER NOT NULL, crc32 INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX tail_by_device ON tail (device, first);

CREATE TABLE mark_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE mark_chunk (
  first INTEGER PRIMARY KEY, marks INTEGER NOT NULL, begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  crc32 INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE mark_tail (
  first INTEGER PRIMARY KEY, marks INTEGER NOT NULL, begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  crc32 INTEGER NOT NULL, data BLOB NOT NULL);

CREATE TABLE process (
  id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL, parent INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE process_sample (process INTEGER NOT NULL, mono_ns INTEGER NOT NULL, cpu_ns INTEGER NOT NULL);
CREATE TABLE device_process (
  device INTEGER NOT NULL, mono_ns INTEGER NOT NULL, component TEXT NOT NULL, pid INTEGER NOT NULL, memory INTEGER,
  busy REAL, memory_busy REAL, encoder REAL, decoder REAL);

CREATE TABLE event (
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL, count INTEGER NOT NULL);
CREATE TABLE clock (mono_ns INTEGER NOT NULL, boot_ns INTEGER NOT NULL, wall_ns INTEGER NOT NULL);
)sql";

}  // namespace joulery
