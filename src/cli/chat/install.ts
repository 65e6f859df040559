/** `/install <skill>` in a chat. */
import { refusedSkill, withConsent } from "../commands/skill/install-consent.ts";
import { findingLines, outcomeLine } from "../format/skill-findings.ts";
import { usageError } from "../program/failure.ts";
import type { Chat } from "./chat.ts";

/** Shows suspicious findings and does not install the skill, unless the user added `--yes`. */
export async function install(chat: Chat, rest: string): Promise<"stay"> {
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const yes = words.includes("--yes");
  const [skill, from] = words.filter((word) => word !== "--yes");
  if (skill === undefined) throw usageError("which skill?", "/install <skill> [source], as in /install pdf");
  const { client, screen, style } = chat;
  screen.line(style.dim(`fetching ${from ?? skill} …`));
  const body = from === undefined ? { source: skill } : { source: from, name: skill };
  try {
    const result = await withConsent(
      (accept) => client.call("installSkill", { body: { ...body, ...accept } }),
      async (fetched) => {
        for (const line of findingLines(fetched.findings, style)) screen.line(line);
        return yes;
      },
    );
    screen.line(outcomeLine(result, style));
    if (result.outcome === "consent") screen.line(style.yellow(`  /install ${rest} --yes installs it anyway`));
  } catch (error) {
    for (const line of findingLines(refusedSkill(error)?.findings ?? [], style)) screen.line(line);
    throw error;
  }
  return "stay";
}
