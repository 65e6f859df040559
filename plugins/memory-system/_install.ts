/** Lays out the memory and makes the agent, the queue and, if wanted, the schedule of the dream. */
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
  const agent = {
    description: "Looks back at sessions for the memory",
    permission: "read",
    tools: "none",
  };
  if (!(await edit.addAgent("dreamer", agent))) console.log('the agent "dreamer" is yours already; it stays as it is');
  if (!(await edit.addQueue("dreamer", { agent: "dreamer", max_parallel: 3, retries: 1, timeout: 600 })))
    console.log('the queue "dreamer" is yours already; it stays as it is');
  if (context.reason === "update") return;
  if (!(await context.confirm("Dream every night at 03:00, to consolidate the memory?", { default: true }))) {
    console.log("no schedule; run it when you like: aegis workflow run dream");
    return;
  }
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  await scheduler.writeAtomic("memory-dream", { workflow: "dream", cron: "0 3 * * *", timezone, missed: "once" });
}
