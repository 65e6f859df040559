/** Lays out the memory and makes the queue and, if wanted, the schedule of the dream. Its agent comes with the plugin. */
import type { InstallContext } from "aegis";

const soul = `<!-- Who your agents are: tone, values, habits. Every session begins with it. Delete this line when you write. -->
`;
const user = `<!-- Whom they work for: name, role, preferences. Every session begins with it. Delete this line when you write. -->
`;
const index = "# Memory index\n\n## Index\n\n";

export async function install(context: InstallContext): Promise<void> {
  const { files, edit, scheduler, console } = context;
  await files.create(".aegis/memory/SOUL.md", soul);
  await files.create(".aegis/memory/USER.md", user);
  await files.create(".aegis/memory/MEMORY.md", index);
  const queue = { agent: "memory-system:dreamer", max_parallel: 3, retries: 1, timeout: 600 };
  if (!(await edit.addQueue("dreamer", queue))) console.log('the queue "dreamer" is yours already; it stays as it is');
  if (context.reason === "update") return;
  if (!(await context.confirm("Dream every night at 03:00, to consolidate the memory?", { default: true }))) {
    console.log("no schedule; run it when you like: aegis workflow run dream");
    return;
  }
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  await scheduler.writeAtomic("memory-dream", { workflow: "dream", cron: "0 3 * * *", timezone, missed: "once" });
}
