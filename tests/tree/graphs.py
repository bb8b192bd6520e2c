# SPDX-License-Identifier: MIT
"""Circles in a graph of files or directories."""

from collections import deque

Graph = dict[str, dict[str, set[str]]]  # node: the nodes it depends on, and by which names


def circle(nodes: Graph) -> list[str]:
    """The shortest circle, with its first node again at the end; empty: there is none."""
    best: list[str] = []
    for start in nodes:
        before: dict[str, str] = {}
        queue = deque([start])
        while queue and start not in before:
            node = queue.popleft()
            for other in sorted(nodes[node]):
                if other not in before:
                    before[other] = node
                    queue.append(other)
        if start not in before:
            continue
        found = [start]
        while len(found) == 1 or found[-1] != start:
            found.append(before[found[-1]])
        if not best or len(found) < len(best):
            best = found[::-1]
    return best


def reached(nodes: Graph, start: str, without: str = "") -> set[str]:
    """The nodes that start leads to; with `without`, not by the arrow straight to that node."""
    seen: set[str] = set()
    todo = [other for other in nodes[start] if other != without]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += nodes[node]
    return seen


def circles(nodes: Graph) -> list[list[str]]:
    """All nodes that lead back to themselves, those together that lead to each other; the largest first."""
    behind = {node: reached(nodes, node) for node in nodes}
    groups = {tuple(sorted(o for o in behind[n] if n in behind[o])) for n in nodes if n in behind[n]}
    return [list(group) for group in sorted(groups, key=lambda g: (-len(g), g))]
