/** Creates the memory's files, the queue and, if wanted, the schedule of the dream. The plugin provides its agent. */
import type { InstallContext } from "aegis";

const soul = `<!-- Who your agents are: tone, values, habits. Every session starts with this text. Delete this line when you edit. -->
`;
const user = `<!-- Who they work for: name, role, preferences. Every session starts with this text. Delete this line when you edit. -->
`;
const index = "# Memory index\n\n## Index\n\n";

export async function install(context: InstallContext): Promise<void> {
  const { files, edit, scheduler, console } = context;
  await files.create(".aegis/memory/SOUL.md", soul);
  await files.create(".aegis/memory/USER.md", user);
  await files.create(".aegis/memory/MEMORY.md", index);
  const queue = { agent: "memory-system:dreamer", max_parallel: 3, retries: 1, timeout: 600 };
  if (!(await edit.addQueue("dreamer", queue))) console.log('the queue "dreamer" already exists and was not changed');
  if (context.reason === "update") return;
  if (!(await context.confirm("Dream every night at 03:00, to consolidate the memory?", { default: true }))) {
    console.log("no schedule was added; to run it by hand: aegis workflow run dream");
    return;
  }
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  await scheduler.writeAtomic("memory-dream", { workflow: "dream", cron: "0 3 * * *", timezone, missed: "once" });
}
