import type { Channels } from "@aegis/channels/channels.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type ChannelServices = { channels: Pick<Channels, "list" | "pair" | "unpair" | "test"> };

export function channelHandlers({ channels }: ChannelServices) {
  return {
    listChannels: async () => ({ channels: await channels.list() }),
    pairChannel: async ({ path }) => ({ pairing: await channels.pair(path.channel) }),
    unpairChannel: async ({ path, body }) => ({ removed: await channels.unpair(path.channel, body.peer) }),
    testChannel: async ({ path }, signal) => ({ ok: true, detail: await channels.test(path.channel, signal) }),
  } satisfies Partial<Handlers>;
}
