/** The tools every native agent has. */
import { bashTool } from "./bash.ts";
import { editTool } from "./edit.ts";
import { fetchTool } from "./fetch.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { lsTool } from "./ls.ts";
import { readTool } from "./read.ts";
import { todoTool } from "./todo.ts";
import type { Tool } from "./tool.ts";
import { writeTool } from "./write.ts";

export function coreTools(): Tool[] {
  return [readTool(), writeTool(), editTool(), bashTool(), grepTool(), globTool(), lsTool(), fetchTool(), todoTool()];
}
