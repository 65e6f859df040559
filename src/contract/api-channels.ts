/** The endpoints of channels. */
import { z } from "zod";
import { type Endpoint, none } from "./api-parts.ts";
import { channelSchema, pairingSchema } from "./channel.ts";

const channelPath = z.object({ channel: z.string() });

export const channelEndpoints = {
  listChannels: {
    summary: "List the configured channels and their state",
    path: none,
    query: none,
    body: none,
    output: z.object({ channels: z.array(channelSchema) }),
  },
  pairChannel: {
    summary: "Create a code with which one person can pair with a channel",
    path: channelPath,
    query: none,
    body: none,
    output: z.object({ pairing: pairingSchema }),
  },
  unpairChannel: {
    summary: "Remove a paired person from a channel",
    path: channelPath,
    query: none,
    body: z.object({ peer: z.string() }),
    output: z.object({ removed: z.boolean() }),
  },
  testChannel: {
    summary: "Check the connection of a channel and send a test message",
    path: channelPath,
    query: none,
    body: none,
    output: z.object({ ok: z.boolean(), detail: z.string() }),
  },
} satisfies Record<string, Endpoint>;
