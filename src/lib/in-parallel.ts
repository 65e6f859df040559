/** Runs all functions with at most `most` in parallel. Rejects with the first failure. */
export async function inParallel(work: readonly (() => Promise<void>)[], most: number): Promise<void> {
  const waiting = [...work];
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await one();
  };
  await Promise.all(Array.from({ length: most }, next));
}
