/** The endpoints of channels. */
import { z } from "zod";
import { endpoint } from "./api-parts.ts";
import { channelSchema, pairingSchema } from "./channel.ts";

const channelPath = z.object({ channel: z.string() });

export const channelEndpoints = {
  listChannels: endpoint("List the configured channels and their state", {
    output: z.object({ channels: z.array(channelSchema) }),
  }),
  pairChannel: endpoint("Create a code with which one person can pair with a channel", {
    path: channelPath,
    output: z.object({ pairing: pairingSchema }),
  }),
  unpairChannel: endpoint("Remove a paired person from a channel", {
    path: channelPath,
    body: z.object({ peer: z.string() }),
    output: z.object({ removed: z.boolean() }),
  }),
  testChannel: endpoint("Check the connection of a channel and send a test message", {
    path: channelPath,
    output: z.object({ ok: z.boolean(), detail: z.string() }),
  }),
};
