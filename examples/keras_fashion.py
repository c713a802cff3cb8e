"""Trains a small image classifier with TensorFlow/Keras, and tells Joulery about every step.

    joulery run -- python examples/keras_fashion.py

The class StepMarks is all that a Keras program needs: hand it to model.fit() and the energy report shows joules
per step and per sample, and what starting up cost. Started without `joulery run`, the marks cost next to nothing.
"""
import argparse
import contextlib

import joulery
import keras
import tensorflow

import fashion_mnist


class StepMarks(keras.callbacks.Callback):
    """Marks each training batch as a step of `samples` images, each epoch, and the accuracy it reached."""

    def __init__(self, samples):
        super().__init__()
        self.samples = samples
        self.step = contextlib.ExitStack()

    def on_epoch_begin(self, epoch, logs=None):
        joulery.mark("epoch", epoch)

    def on_train_batch_begin(self, batch, logs=None):
        self.step.enter_context(joulery.step(samples=self.samples))

    def on_train_batch_end(self, batch, logs=None):
        self.step.close()

    def on_test_end(self, logs=None):
        joulery.kpi("accuracy", logs["accuracy"])


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a small image classifier with TensorFlow/Keras.")
    parser.add_argument("--steps", type=int, default=600, help="training steps in all (default: 600)")
    parser.add_argument("--epochs", type=int, default=2, help="how many parts the steps come in (default: 2)")
    parser.add_argument("--batch", type=int, default=64, help="images per step (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the order of the images (default: 0)")
    parser.add_argument("--threads", type=int, default=0, help="threads to compute with (default: one per CPU)")
    options = parser.parse_args()
    if not 1 <= options.epochs <= options.steps:
        parser.error("--steps must be at least --epochs, and both at least 1")
    return options


def batches(part, size, shuffle_seed=None):
    """Batches of (images in 0..1, labels); with a seed in a new order each time round, without end."""
    images, labels = fashion_mnist.load(part)
    data = tensorflow.data.Dataset.from_tensor_slices((images[..., None], labels))
    if shuffle_seed is not None:
        data = data.shuffle(len(labels), shuffle_seed).repeat()
    return data.batch(size).map(lambda image, label: (tensorflow.cast(image, "float32") / 255.0, label)).prefetch(2)


def build_model():
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((28, 28, 1)),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(10),
    ])
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def main():
    options = parse_arguments()
    keras.utils.set_random_seed(options.seed)
    tensorflow.config.threading.set_intra_op_parallelism_threads(options.threads)
    training = build_model().fit(
        batches("train", options.batch, shuffle_seed=options.seed),
        epochs=options.epochs,
        steps_per_epoch=options.steps // options.epochs,
        validation_data=batches("t10k", 500),
        shuffle=False,  # the pipeline has done it
        callbacks=[StepMarks(samples=options.batch)],
        verbose=2,
    )
    print(f"accuracy on images it has not seen: {training.history['val_accuracy'][-1]:.3f}")


if __name__ == "__main__":
    main()
