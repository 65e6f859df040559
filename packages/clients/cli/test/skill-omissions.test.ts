/** What the discovery of skills leaves out is told, each with its reason. */

import type { SkillDiagnostic } from "@aegis/contract/skill.ts";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";

const page = (name: string, more = "") => `---\nname: ${name}\ndescription: About ${name}.\n${more}---\nText.\n`;

it("names folders that lie too deep, skills inside skills, an index and unknown agents", async () => {
  const project = await aegisProject({
    ".aegis/skills/SKILLS.md": "# All of them\n",
    ".aegis/skills/a/SKILL.md": page("a", "metadata: { aegis: { agent: explorr } }\n"),
    ".aegis/skills/a/inner/SKILL.md": page("inner"),
    ".aegis/skills/a/more/deeper/far/SKILL.md": page("far"),
    ".aegis/skills/1/2/3/4/5/6/7/SKILL.md": page("deep"),
    "skills/loose.md": page("loose"),
  });
  const { diagnostics } = await project.json<{ diagnostics: SkillDiagnostic[] }>("skill", "list");
  const told = diagnostics.map(({ code, file, message }) => `${code} ${file?.split("/skills/")[1]}: ${message}`);
  expect(told).toEqual([
    expect.stringMatching(/^name loose\.md: is not read: a skill in this folder is a folder with a SKILL\.md/),
    expect.stringMatching(/^name SKILLS\.md: is treated as an index/),
    expect.stringMatching(/^depth 1\/2\/3\/4\/5\/6\/7: is not read/),
    expect.stringMatching(/^nesting a\/inner\/SKILL\.md: is inside the skill a/),
    expect.stringMatching(/^nesting a\/more\/deeper\/far\/SKILL\.md: is inside the skill a/),
    expect.stringMatching(/^agent a\/SKILL\.md: agent: no agent "explorr" \(did you mean "explorer"\?\)/),
  ]);
});

it("uses pages without a header, and says what it took for their fields", async () => {
  const project = await aegisProject({
    "skills/packet-trace/SKILL.md": "# Packet trace\n\nFollows a packet through the network.\n",
    "skills/undescribed/SKILL.md": "---\nname: undescribed\n---\n\nCounts the lamps in a house.\n",
    "skills/empty/SKILL.md": "",
    ".aegis/agents/growth.md": "# Growth\n\nYou grow the audience of a shop.\n",
  });
  type Listed = { skills: { name: string; description: string }[]; diagnostics: SkillDiagnostic[] };
  const { skills, diagnostics } = await project.json<Listed>("skill", "list");
  const own = ["packet-trace", "undescribed", "empty"];
  expect(skills.filter(({ name }) => own.includes(name)).map(({ description }) => description)).toEqual([
    "Follows a packet through the network.",
    "Counts the lamps in a house.",
  ]);
  expect(diagnostics.map(({ level, skill, message }) => `${level} ${skill}: ${message}`)).toEqual([
    expect.stringMatching(/^error empty: is empty/),
    expect.stringMatching(/^warning packet-trace: expected a header/),
    expect.stringMatching(/^warning packet-trace: description: expected one; taken from the text: "Follows/),
    expect.stringMatching(/^warning undescribed: description: expected one; taken from the text: "Counts/),
  ]);
  const { stdout } = await project.aegis("agent", "show", "growth");
  expect(stdout).toContain("You grow the audience of a shop.");
});
