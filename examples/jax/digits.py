# SPDX-License-Identifier: MIT
import jax, jax.numpy as jnp, numpy as np
images, labels = (np.load(f"tests/data/digits/{name}.npy") for name in ("images", "labels"))
images, labels = images.reshape(-1, 64).astype(np.float32), jax.nn.one_hot(labels, 10)
w = [0.1 * jax.random.normal(jax.random.key(n), (n, m)) for n, m in ((64, 32), (32, 10))]
loss = lambda w, x, y: -jnp.mean(jnp.sum(y * jax.nn.log_softmax(jax.nn.relu(x @ w[0]) @ w[1]), 1))
step = jax.jit(lambda w, x, y: jax.tree.map(lambda p, g: p - 0.2 * g, w, jax.grad(loss)(w, x, y)))
for epoch in range(1, 6):
    for i in range(0, 1536, 64):
        w = step(w, images[i:i + 64], labels[i:i + 64])
    print(f"{w[0].device.device_kind}, epoch {epoch}: loss {loss(w, images[1536:], labels[1536:]):.2f}")
