/** A channel connects Aegis to an outside service: a messenger, webhooks, desktop notifications. */
import { z } from "zod";

/**
 * `starting`: not connected yet. `ok`: works. `rate_limited`: the service asked to wait. `unreachable`: the network or
 * the service does not answer. `conflict`: another program receives the messages of the same account. `unauthorized`:
 * the service rejects the token. `off`: a setting or a secret is missing, or the service said that the address is gone.
 */
export const channelStateSchema = z.enum([
  "starting",
  "ok",
  "rate_limited",
  "unreachable",
  "conflict",
  "unauthorized",
  "off",
]);
export type ChannelState = z.infer<typeof channelStateSchema>;

/** `people` talk to sessions through the channel, whether Aegis or a plugin provides it. */
export const channelKindSchema = z.enum(["people", "webhook_out", "webhook_in", "desktop"]);
export type ChannelKind = z.infer<typeof channelKindSchema>;

/** A person who may use a channel. */
export const channelPeerSchema = z.object({
  /** The id that the service gives the person. */
  peer: z.string(),
  name: z.string(),
  /** Null if the configuration lists the person. */
  paired_at: z.number().nullable(),
});
export type ChannelPeerView = z.infer<typeof channelPeerSchema>;

export const channelSchema = z.object({
  /** The name of a channel with people, `desktop`, `out:<hook>` or `in:<hook>`. */
  name: z.string(),
  kind: channelKindSchema,
  state: channelStateSchema,
  /** When the channel entered this state. */
  since: z.number(),
  /** When the service last answered without an error. */
  last_ok: z.number().nullable(),
  /** What the state means for this channel, in one line. */
  detail: z.string(),
  /** The action that fixes the problem. */
  fix: z.string().nullable(),
  /** Deliveries that were not sent yet. */
  waiting: z.int(),
  /** Deliveries that Aegis gave up, within the last 30 days. */
  failed: z.int(),
  /** Messages and requests that were ignored since the daemon started, because their sender is not allowed. */
  ignored: z.int(),
  peers: z.array(channelPeerSchema),
});
export type ChannelView = z.infer<typeof channelSchema>;

/** A code that a person sends to the channel to be allowed to use it. */
export const pairingSchema = z.object({
  channel: z.string(),
  code: z.string(),
  /** Opens the chat with the code filled in, if the service has such links. */
  link: z.string().nullable(),
  expires_at: z.number(),
});
export type Pairing = z.infer<typeof pairingSchema>;

/** The events that an outgoing webhook can send. */
export const webhookEvents = [
  "ask.opened",
  "ask.settled",
  "turn.ended",
  "task.ended",
  "run.ended",
  "schedule.ended",
  "session.created",
  "session.closed",
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];
