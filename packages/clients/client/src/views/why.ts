/** The links of the causes of a message in words. */
import type { WhyLink } from "@aegis/contract/why.ts";

export function whyWords({ kind, handle, name }: WhyLink): string {
  const who = handle ?? "a session that is gone";
  switch (kind) {
    case "message":
      return `message to ${who}`;
    case "turn":
      return `sent in a turn of ${who}`;
    case "task":
      return `task of the queue ${name}${handle === null ? "" : `, done by ${handle}`}`;
    case "run":
      return `run of the workflow ${name}`;
    case "broadcast":
      return `broadcast to the group ${name}`;
    case "subagent":
      return `subagent ${name} (${who})`;
    case "person":
      return name === null ? "a person" : `a person, over ${name}`;
    case "schedule":
      return `the schedule ${name}`;
    case "client":
      return `the client ${name}`;
    case "webhook":
      return `the webhook ${name}`;
    case "aegis":
      return "Aegis itself";
  }
}
