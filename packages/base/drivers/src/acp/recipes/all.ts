/** Every ACP agent that Aegis can start, by the name of its harness. */
import type { AcpRecipe } from "../recipe.ts";
import { copilot } from "./copilot.ts";
import { custom } from "./custom.ts";
import { gemini } from "./gemini.ts";
import { goose } from "./goose.ts";
import { kimi } from "./kimi.ts";
import { kilo, opencode } from "./opencode.ts";
import { qwen } from "./qwen.ts";

export const acpRecipes: readonly AcpRecipe[] = [gemini, opencode, goose, qwen, kimi, copilot, kilo, custom];
