/** What a plugin's channel passes to the daemon, and the settings of such a channel. */
import { z } from "zod";

const short = z.string().max(256);
const id = short.min(1);
const long = z.string().max(100_000);
const mostFiles = 20;

const fileSchema = z.object({
  id: z.string().min(1).max(4_096),
  name: short,
  bytes: z.number().nullable().default(null),
  image: z.boolean().default(false),
});

const contentSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("text"),
    text: long,
    quoted: z
      .array(z.object({ label: short, text: long }))
      .max(mostFiles)
      .default([]),
    files: z.array(fileSchema).max(mostFiles).default([]),
  }),
  z.object({ kind: z.literal("command"), name: id, rest: long }),
  z.object({ kind: z.literal("press"), press: id, data: short }),
  z.object({ kind: z.literal("pair"), code: short }),
]);

/** A batch of received items. */
export const inboundBatchSchema = z
  .array(
    z.object({
      key: id,
      peer: z.object({ id, name: short }),
      place: id,
      shared: z.boolean().default(false),
      replyTo: short.nullable().default(null),
      content: contentSchema,
    }),
  )
  .max(1_000);

export const channelAccountSchema = z.object({
  id,
  label: short,
  notes: z.array(short).max(20).default([]),
  pairLink: z.string().max(1_000).nullable().default(null),
});

const idList = z
  .array(z.union([z.string().min(1), z.number().transform(String)], { error: "expected the id of a person or a chat" }))
  .default([]);

/** `plugins.<plugin>.channels.<channel>`. */
export const pluginChannelSettingsSchema = z.strictObject({
  enabled: z.boolean().default(true),
  users: idList,
  chats: idList,
  agent: z.string().min(1).optional(),
  notify: z.enum(["own", "asks"]).default("asks"),
  threads: z.boolean().default(true),
});
export type PluginChannelSettings = z.infer<typeof pluginChannelSettingsSchema>;
