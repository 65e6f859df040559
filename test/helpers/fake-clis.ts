/** Programs with the names of all supported coding-agent CLIs. They print a version and can do nothing else. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { acpRecipes } from "@aegis/drivers/acp/recipes/all.ts";

const commands = ["claude", "codex", ...acpRecipes.map(({ program }) => program.command).filter((name) => name !== "")];

/** One answer that every harness accepts as its own version. */
const script = "#!/bin/sh\nprintf '9.9.9 (Claude Code)\\ncodex-cli 9.9.9\\n'\n";

export async function installFakeClis(bin: string): Promise<void> {
  await mkdir(bin, { recursive: true });
  await Promise.all(commands.map((name) => writeFile(join(bin, name), script, { mode: 0o755 })));
}
