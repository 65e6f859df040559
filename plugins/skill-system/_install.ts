/** Creates the folder for a project's skills, with a short explanation. */
import type { InstallContext } from "aegis";

const readme = `# Skills

One Markdown file for each skill, with a header:

    ---
    name: release-notes
    description: Write release notes from the commits since the last tag
    ---

    What to do, step by step.

Folders with a \`SKILL.md\` work too. \`aegis skill list\` shows what agents may load.
`;

export async function install({ files, console }: InstallContext): Promise<void> {
  if (await files.create(".aegis/skills/README.md", readme)) console.log("put your skills into .aegis/skills");
}
