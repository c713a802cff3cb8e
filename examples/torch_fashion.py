"""Trains a small image classifier with PyTorch, and tells Joulery about every step.

    joulery run -- python3 examples/torch_fashion.py

One line is new in the training loop: `joulery.steps(...)` around the loader. The energy report then shows joules
per step and per sample, what starting up cost, and what was used between steps, waiting for data. Started without
`joulery run`, the marks cost next to nothing.
"""
import argparse

import joulery
import numpy
import torch
from torch import nn

import fashion_mnist


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a small image classifier with PyTorch.")
    parser.add_argument("--steps", type=int, default=600, help="training steps in all (default: 600)")
    parser.add_argument("--epochs", type=int, default=2, help="how many parts the steps come in (default: 2)")
    parser.add_argument("--batch", type=int, default=64, help="images per step (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the order of the images (default: 0)")
    parser.add_argument("--threads", type=int, default=0, help="threads to compute with (default: one per CPU)")
    options = parser.parse_args()
    if not 1 <= options.epochs <= options.steps:
        parser.error("--steps must be at least --epochs, and both at least 1")
    return options


def load(part):
    """(images in 0..1 of shape (n, 1, 28, 28), labels) as tensors."""
    images, labels = fashion_mnist.load(part)
    return torch.from_numpy(images[:, None].astype(numpy.float32) / 255.0), torch.from_numpy(labels.astype(numpy.int64))


def batches(images, labels, size, steps):
    """`steps` batches of images drawn at random."""
    for _ in range(steps):
        chosen = torch.randint(len(labels), (size,))
        yield images[chosen], labels[chosen]


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 5 * 5, 128), nn.ReLU(), nn.Linear(128, 10),
    )


def accuracy(model, images, labels):
    with torch.no_grad():
        hits = sum((model(part).argmax(1) == truth).sum().item() for part, truth in zip(images.split(500), labels.split(500)))
    return hits / len(labels)


def main():
    options = parse_arguments()
    torch.manual_seed(options.seed)
    if options.threads:
        torch.set_num_threads(options.threads)
    train_images, train_labels = load("train")
    test_images, test_labels = load("t10k")
    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()

    for epoch in range(options.epochs):
        joulery.mark("epoch", epoch)
        loader = batches(train_images, train_labels, options.batch, options.steps // options.epochs)
        for images, labels in joulery.steps(loader, samples=options.batch):
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
        reached = accuracy(model, test_images, test_labels)
        joulery.kpi("accuracy", reached)
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}, accuracy on images it has not seen {reached:.3f}", flush=True)


if __name__ == "__main__":
    main()
