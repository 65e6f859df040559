/**
 * Lets `fetch` wait longer for a connection. Node gives up after ten seconds, which a daemon on a busy machine may need
 * to accept the last of a thousand connections. A port without a server refuses at once, so nothing else takes longer.
 */
const dispatcher = Symbol.for("undici.globalDispatcher.1");
const connectMs = 120_000;

type Agent = { constructor: new (options: { connect: { timeout: number } }) => Agent };

export async function makeFetchPatient(): Promise<void> {
  // The first call makes the dispatcher; this one uses no network.
  await fetch("data:,");
  const standard: Agent | undefined = Reflect.get(globalThis, dispatcher);
  if (standard === undefined) throw new Error("Node keeps the dispatcher of fetch elsewhere now");
  Reflect.set(globalThis, dispatcher, new standard.constructor({ connect: { timeout: connectMs } }));
}
