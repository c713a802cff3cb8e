"""Trains a small image classifier with TensorFlow/Keras, and tells Joulery about every step.

    joulery run -- python examples/keras_fashion.py

One line is new: `callbacks=[joulery.keras.Energy()]`. The energy report then shows joules per step and per sample, what starting up
cost, and what each point of accuracy has cost; Keras' own history has the energy of each epoch. Started without `joulery run`, the
callback reads the meters itself.
"""
import argparse

import joulery
import keras
import tensorflow

import fashion_mnist


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
    energy = joulery.keras.Energy()
    training = build_model().fit(
        batches("train", options.batch, shuffle_seed=options.seed),
        epochs=options.epochs,
        steps_per_epoch=options.steps // options.epochs,
        validation_data=batches("t10k", 500),
        shuffle=False,  # the pipeline has done it
        callbacks=[energy],
        verbose=2,
    )
    for epoch, figures in enumerate(energy.epochs, 1):
        known = figures["energy_j"] is not None
        print(f"epoch {epoch}: " + (f"{figures['energy_j']:.1f} J, {figures['watts']:.1f} W" if known else "energy not known"))
    print(f"accuracy on images it has not seen: {training.history['val_accuracy'][-1]:.3f}")


if __name__ == "__main__":
    main()
