/**
 * Words that users use for what authors of skills call differently. Each line is a group: a word also matches the other
 * words of its group, with a lower weight. Groups contain words of one meaning or one kind of work, never merely
 * related words.
 */
export const synonymGroups: readonly (readonly string[])[] = `
login signin sso oauth oidc authentication auth password
signup register registration subscribe
permission authorization rbac acl role
payment pay charge billing checkout card refund
subscription recurring trial membership
invoice receipt bill
price pricing plan tier fee
cost spending expense saving cheap finops
purchase buy order
outage incident downtime disruption postmortem
crash exception failure stacktrace
alert alarm pager oncall
monitor monitoring metric observability telemetry
trace tracing span
log logging
slow latency performance profile bottleneck sluggish
cache caching memoize
leak memory heap
bug defect debug debugging troubleshoot
race deadlock concurrency concurrent thread
deploy deployment rollout ship release
rollback revert
canary gradual progressive percent percentage toggle flag
pipeline ci cd workflow
container docker image dockerfile
kubernetes k8s cluster pod kubectl helm
server host machine box vm
infrastructure infra terraform iac provisioning
secret credential password token vault key
certificate tls ssl https
dns domain nameserver
mail email inbox
newsletter mailing subscriber
spam deliverability spf dkim
message chat conversation
sms texting phone
call phone voice telephony
queue broker rabbitmq kafka messaging
event stream streaming
realtime live websocket socket presence
database db sql postgres postgresql mysql sqlite
schema migration
query queries sql
index indexing
backup restore recovery disaster
warehouse analytics olap
dashboard chart graph plot visualization visualise
spreadsheet excel xlsx csv sheet
slide presentation powerpoint pptx deck keynote
word docx document letter
pdf scan scanned
ocr scanned handwriting
picture photo image drawing illustration
video clip movie footage film mp4 mov
audio sound recording podcast
music song track melody
transcribe transcript transcription dictation
speech voice spoken tts
subtitle caption
translate translation localization localize i18n multilingual
summary summarize summarise digest recap tldr
article blog post
copy copywriting headline tagline
social tweet linkedin instagram
seo ranking search google
ad ads advertising campaign ppc
conversion convert cro funnel visitor
experiment ab variant
survey interview feedback questionnaire
customer client user
support ticket helpdesk zendesk
sales lead prospect outreach
crm pipeline deal hubspot salesforce
competitor rival competitive vendor
roadmap prioritize prioritise backlog
requirement prd spec specification
story stories backlog acceptance
estimate estimation effort
meeting minutes agenda standup
calendar appointment schedule reschedule booking
reminder todo task
note notes notebook
hire hiring recruit recruiting candidate applicant job
resume cv
salary compensation raise offer negotiate negotiation
contract agreement clause nda
legal law lawyer
privacy gdpr personal consent
compliance audit auditor soc2 iso
health medical patient clinical
tax irs deduction
accounting bookkeeping ledger
budget spending money finance
invest investing stock share portfolio etf
trading trade backtest
crypto bitcoin ethereum coin wallet
contract solidity evm blockchain
startup founder investor fundraising
flight airline plane fly
trip travel itinerary vacation holiday
visa passport immigration
hotel restaurant dinner table
weather forecast rain temperature snow warm
recipe cook cooking dish ingredient
meal diet nutrition calorie
workout exercise training gym fitness
sleep insomnia bed
garden plant vegetable tomato
kid child children parent
light lamp heating thermostat blind smart
wifi network router internet
print printer printing
vulnerability exploit attack hack security
pentest penetration hack hacking
injection sanitize escape
encrypt encryption crypto tls
malware virus suspicious
static analysis lint linter rule
test testing tests suite
flaky intermittent sometimes unstable retry
coverage mutation
fuzz fuzzing random property
screenshot visual pixel
mock stub fake
accessibility a11y wcag keyboard reader contrast
ui interface frontend
design figma mockup wireframe prototype
color colour palette theme brand
animation animate transition motion
css style stylesheet tailwind
responsive mobile phone
ios iphone swift swiftui apple
android kotlin pixel
app application
desktop electron tauri
extension addon chrome firefox
offline pwa serviceworker
bundle webpack vite rollup
typescript ts types
postgres postgresql pg
terraform tf
github gh gha
wordpress wp
unreal ue5 ue
machinelearning ml
objectstorage s3 bucket
environment env dotenv
bot chatbot assistant
shop store ecommerce webshop
javascript js
python py
golang go
csharp c# dotnet
cpp c++
bash shell terminal script
regex regexp pattern
cron nightly scheduled recurring
scrape scraping crawl crawler extract
browser chrome playwright click
api rest endpoint http
graphql resolver
grpc protobuf proto
webhook callback
refactor refactoring restructure cleanup tidy
dead unused obsolete
legacy old outdated monolith
microservice service monolith
architecture architect diagram
diagram flowchart uml mermaid sequence
decision adr
documentation docs readme manual
changelog release notes
commit message conventional
pr pullrequest review reviewer
merge conflict rebase
history bisect regression
monorepo workspace package
dependency dependencies package upgrade outdated
onboarding newcomer inherited unfamiliar
llm model gpt claude
prompt prompting
rag retrieval embedding vector
finetune finetuning lora train
evaluate evaluation eval benchmark
agent agents orchestration subagent
hallucination guardrail jailbreak
memory remember forget
dataset pandas dataframe
statistics statistical significance significant
forecast predict prediction forecasting
classify classification detection detect recognize
gene genes genomic rna
molecule compound smiles drug
map geospatial gis distance
game player level
shader glsl fragment
robot ros lidar
firmware microcontroller sensor esp32 arduino
circuit pcb board
paper manuscript journal article
citation reference bibliography
arxiv preprint paper
grant proposal funding
teach explain lesson tutor learn
quiz flashcard anki memorize
novel story fiction chapter
poem poetry verse
speech toast talk
brainstorm idea ideas
okr goal objective
retention churn cancel leave
runway burn money
`
  .trim()
  .split("\n")
  .map((line) => line.trim().split(" "));

/** Phrases of two words that mean one. */
export const phrases: readonly (readonly [RegExp, string])[] = [
  [/\b(?:log|sign)(?:ged|ging|s)?[ -]?in\b/g, "login"],
  [/\bsign(?:ed|ing|s)?[ -]?up\b/g, "signup"],
  [/\bpull requests?\b|\bmerge requests?\b/g, "pullrequest"],
  [/\bstack ?traces?\b/g, "stacktrace"],
  [/\bservice workers?\b/g, "serviceworker"],
  [/\bfine[ -]tun(?:e|ed|ing)\b/g, "finetune"],
  [/\bsign[ -]on\b/g, "sso"],
  [/\bto[ -]do\b/g, "todo"],
  [/\bon[ -]call\b/g, "oncall"],
  [/\breal[ -]time\b/g, "realtime"],
  [/\ba ?\/ ?b\b/g, "ab"],
  [/\bnode ?\.?js\b/g, "nodejs"],
];
