/** The state of a channel in a few words. */
import type { ChannelView } from "@aegis/contract/channel.ts";
import { duration } from "./time.ts";

/** `<channel>: unreachable for 12m, <detail>`. */
export function channelWords(
  { name, state, since, detail }: Pick<ChannelView, "name" | "state" | "since" | "detail">,
  now: number,
): string {
  const isLasting = state === "rate_limited" || state === "unreachable" || state === "conflict";
  return `${name}: ${state}${isLasting ? ` for ${duration(Math.max(0, now - since))}` : ""}, ${detail}`;
}
