/** Runs a channel as Aegis does, without a daemon and without a store. */
import type {
  ChannelAccount,
  ChannelAsk,
  ChannelCall,
  ChannelContent,
  ChannelInbound,
  ChannelSendCall,
  PluginChannel,
} from "../channel.ts";
import type { PluginContext } from "../context.ts";
import { fakeContext } from "./calls.ts";

export type StartedChannel = {
  readonly account: ChannelAccount;
  /** Everything that the channel has admitted, each key once. */
  readonly admitted: readonly ChannelInbound[];
  /** The stored position. */
  readonly position: string | null;
  /** Resolves when the channel has admitted so many items. Rejects if it stops receiving before. */
  received(count: number): Promise<readonly ChannelInbound[]>;
  send(place: string, content: string | ChannelContent, over?: Partial<ChannelSendCall>): Promise<string>;
  ask(place: string, ask: Partial<ChannelAsk> & { text: string }, over?: Partial<ChannelSendCall>): Promise<string>;
  /** Ends receiving, as a stop of the daemon does. */
  stop(): Promise<void>;
};

/**
 * Connects a channel and lets it receive. `position` is where it continues, as after a restart. Call `stop` at the end of
 * the test.
 *
 * @example
 * ```ts
 * import { channel, parseMessage } from "aegis";
 * import { startChannel } from "aegis/testing";
 *
 * const echo = channel({
 *   description: "One message",
 *   connect: () => ({ id: "echo", label: "echo" }),
 *   async receive(host) {
 *     await host.admit([{ key: "1", peer: { id: "ada", name: "Ada" }, place: "ada", content: parseMessage("hi") }], "1");
 *   },
 *   send: () => "m1",
 *   ask: () => "m2",
 * });
 * const started = await startChannel(echo);
 * await started.received(1); // one item with the text "hi"
 * await started.send("ada", "Hello"); // "m1"
 * await started.stop();
 * ```
 */
export async function startChannel(
  { options }: PluginChannel,
  over: Partial<PluginContext> & { position?: string | null } = {},
): Promise<StartedChannel> {
  const { position: first = null, ...given } = over;
  const end = new AbortController();
  const call: ChannelCall = { ...fakeContext(), ...given, signal: end.signal };
  const account = await options.connect(call);
  const admitted = new Map<string, ChannelInbound>();
  let position = first;
  let changed = Promise.withResolvers<void>();
  const host = {
    cursor: async () => (position === null ? null : { position, at: Date.now() }),
    admit: async (batch: readonly ChannelInbound[], next: string | null) => {
      // The items leave the plugin as a copy.
      for (const item of structuredClone(batch)) if (!admitted.has(item.key)) admitted.set(item.key, item);
      if (next !== null) position = next;
      changed.resolve();
      changed = Promise.withResolvers();
    },
    alive: () => {},
  };
  const receiving = Promise.resolve(options.receive(host, call));
  receiving.catch(() => {});
  const sendCall = (more: Partial<ChannelSendCall>): ChannelSendCall => ({
    ...call,
    key: "test",
    repeated: false,
    ...more,
  });
  return {
    account,
    get admitted() {
      return [...admitted.values()];
    },
    get position() {
      return position;
    },
    async received(count) {
      const stopped = receiving.then(() => {
        if (admitted.size < count) throw new Error(`receive() returned after ${admitted.size} of ${count} items`);
      });
      while (admitted.size < count) await Promise.race([changed.promise, stopped]);
      return [...admitted.values()];
    },
    send: async (place, content, more = {}) =>
      options.send(place, typeof content === "string" ? { kind: "text", text: content } : content, sendCall(more)),
    ask: async (place, ask, more = {}) => options.ask(place, { choices: [], settles: null, ...ask }, sendCall(more)),
    async stop() {
      end.abort();
      await receiving.catch((error: unknown) => {
        if (!(error instanceof Error && error.name === "AbortError")) throw error;
      });
    },
  };
}
