/** `/install <skill>` in a chat. */
import { usageError } from "../failure.ts";
import { findingLines, outcomeLine } from "../format/skill-findings.ts";
import { refusedFindings, withConsent } from "../install-skill.ts";
import type { Chat } from "./chat.ts";

/** What is suspicious is shown and not installed, unless `--yes` follows. */
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
    if (result.outcome === "consent") screen.line(style.yellow(`  /install ${rest} --yes installs it all the same`));
  } catch (error) {
    for (const line of findingLines(refusedFindings(error), style)) screen.line(line);
    throw error;
  }
  return "stay";
}
