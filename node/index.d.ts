export interface Reading {
  /** Joules since the program began, for the whole machine; null where they are not known, and `reason` says why. */
  joules: number | null;
  low: number | null;
  high: number | null;
  quality: 'measured' | 'integrated' | 'derived' | 'estimated' | 'missing';
  watts: number | null;
  partial: boolean;
  missing: string;
  reason: string;
  /** By the monotonic clock. */
  seconds: number;
}

export interface Spent {
  joules: number | null;
  watts: number | null;
  seconds: number;
  quality: Reading['quality'];
  partial: boolean;
  reason: string;
}

export interface Step {
  end(): void;
}

export interface Epoch {
  epoch: number;
  energy_j: number | null;
  j_per_sample: number | null;
  watts: number | null;
  seconds: number;
  samples: number | null;
  quality: Reading['quality'];
  partial: boolean;
  reason: string;
}

export interface TfjsCallbacks {
  epochs: Epoch[];
  onTrainBegin(): Promise<void>;
  onTrainEnd(): Promise<void>;
  onEpochBegin(epoch: number): Promise<void>;
  onEpochEnd(epoch: number, logs?: Record<string, number>): Promise<void>;
  onBatchBegin(): Promise<void>;
  onBatchEnd(batch: number, logs?: {size?: number}): Promise<void>;
}

export function step(samples?: number, name?: string): Step;
export function mark(name: string, value?: number): void;
export function kpi(name: string, value: number): void;
export function work(count: number, unit?: string): void;
export function active(): boolean;
export function lost(): number;
export function energy(): Reading;
export function spent(earlier: Reading, later: Reading): Spent;
export function tfjs(options?: {samples?: number}): TfjsCallbacks;
