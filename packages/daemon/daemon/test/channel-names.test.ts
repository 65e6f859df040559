/** Names of the channels that Aegis brings: a plugin cannot take one. */
import { channelNameProblem } from "@aegis/plugin-api/channel.ts";
import { channelKeys } from "@aegis/project/config/schema.ts";
import { expect, it } from "vitest";

it.each([...channelKeys, "desktop"])("keeps the channel name %s for Aegis", (name) => {
  expect(channelNameProblem(name)).toMatch(/belongs to Aegis/);
});
