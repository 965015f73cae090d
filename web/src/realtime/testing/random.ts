/** A small seeded generator, so that a failing random test can be run again by its printed seed. */
export interface Random {
  (): number;
  int(below: number): number;
  pick<T>(list: readonly T[]): T;
  chance(p: number): boolean;
  shuffle<T>(list: readonly T[]): T[];
}

export function seeded(seed: number): Random {
  let a = seed >>> 0;
  const next = (() => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }) as Random;
  next.int = (below) => Math.floor(next() * below);
  next.pick = (list) => list[next.int(list.length)] as (typeof list)[number];
  next.chance = (p) => next() < p;
  next.shuffle = (list) => {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = next.int(i + 1);
      const x = out[i] as (typeof out)[number];
      out[i] = out[j] as (typeof out)[number];
      out[j] = x;
    }
    return out;
  };
  return next;
}
