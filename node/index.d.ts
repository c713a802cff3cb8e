/** True where `joulery run` hears the marks of this process. */
export function active(): boolean;
/** Marks that were dropped: a full ring, a name that is empty or one too many, a value that is no number. */
export function lost(): number;
/** A named moment. */
export function mark(name: string, value?: number): void;
/** A business figure: accuracy, loss, latency. */
export function kpi(name: string, value: number): void;
/** Work that was done by now: work("token", 512). */
export function work(unit: string, count: number): void;
/** Begins a step that holds so many samples; of another name, so many units of that name. */
export function stepBegin(samples?: number, name?: string): void;
/** Ends the innermost step of that name. */
export function stepEnd(name?: string): void;
/** Runs `body` as a step; where it returns a promise, the step ends when that is settled. */
export function step<T>(body: () => T, options?: { samples?: number; name?: string }): T;

export interface Logs {
  [name: string]: number;
}
export interface EnergyCallbacks {
  onBatchBegin(batch: number, logs?: Logs): void;
  onBatchEnd(batch: number, logs?: Logs): void;
  onEpochEnd(epoch: number, logs?: Logs): void;
  onTrainEnd(logs?: Logs): void;
}
/** Callbacks for TensorFlow.js: model.fit(x, y, { callbacks: joulery.energy() }). */
export function energy(): EnergyCallbacks;
