// @ts-check
// The messages of the WebSocket and the values in them, in the order of the Rust types that they mirror
// (silas-web `protocol.rs`, silas-runtime `view.rs`, silas-core `card.rs`, `token.rs`, …). Types only; no code runs here.
// Ids, digests, keys, signatures and times are strings on the wire.

/**
 * From the page.
 * @typedef {{ type: 'auth', key: string, signature: Signature, resume: Resume | null, token: string | null }} Auth
 * @typedef {{ session: string, seen: number }} Resume
 * @typedef {{ type: 'ack', seq: number }} Ack
 * @typedef {{ type: 'message', message: SignedMessage }} Message
 * @typedef {{ type: 'approval_response', request_id: string, token: Token }} ApprovalResponse
 * @typedef {{ type: 'renew', request_id: string, rehearse: boolean }} Renew
 * @typedef {{ type: 'dismiss', request_id: string }} Dismiss
 * @typedef {{ type: 'withdraw', withdrawal: Withdrawal }} Withdraw
 * @typedef {{ type: 'house_rules' }} HouseRulesQuestion
 * @typedef {{ type: 'root_add', path: string }} RootAdd
 * @typedef {{ type: 'proof', execution: string }} Proof
 * @typedef {{ type: 'bundle', execution: string }} BundleQuestion
 * @typedef {{ type: 'later_edits', execution: string }} LaterEditsQuestion
 * @typedef {{ type: 'way_back', execution: string }} WayBack
 * @typedef {{ type: 'work_list', from: number }} WorkListQuestion
 * @typedef {{ type: 'stop', execution: string | null }} Stop
 * @typedef {{ type: 'interrupt' }} Interrupt
 * @typedef {{ type: 'passkey_add', name: string, public: string, site: Site }} PasskeyAdd
 * @typedef {{ type: 'models' }} ModelsQuestion
 * @typedef {{ type: 'model_add', grant: ModelGrant }} ModelAdd
 * @typedef {{ type: 'model_check', role: Role }} ModelCheck
 * @typedef {{ type: 'model_choose', request_id: string, model: string, key: KeyWanted, price: Price | null }} ModelChoose
 * @typedef {{ type: 'decision_response', request_id: string, message: SignedMessage }} DecisionResponse
 * @typedef {{ type: 'model_again', request_id: string }} ModelAgain
 * @typedef {{ type: 'model_another', request_id: string }} ModelAnother
 * @typedef {{ type: 'verify' }} Verify
 * @typedef {{ type: 'tasks' }} TasksQuestion
 * @typedef {{ type: 'cards', from: number }} CardsQuestion
 * @typedef {{ type: 'grants', from: number }} GrantsQuestion
 * @typedef {{ type: 'activity', before: number }} ActivityQuestion
 * @typedef {{ type: 'evidence', seq: number }} EvidenceQuestion
 * @typedef {{ type: 'sessions' }} SessionsQuestion
 * @typedef {{ type: 'dead_letters' }} DeadLettersQuestion
 * @typedef {{ type: 'measures' }} MeasuresQuestion
 * @typedef {{ type: 'revive', message: string }} Revive
 * @typedef {{ type: 'ledger_text', seq: number }} LedgerTextQuestion
 * @typedef {{ type: 'forget', seq: number, message: SignedMessage }} Forget
 * @typedef {{ type: 'command_run', run: CommandRun }} CommandRunNote
 * @typedef {{ type: 'ledger', after: number }} LedgerQuestion
 * @typedef {Auth | Ack | Message | ApprovalResponse | Renew | Dismiss | Withdraw | HouseRulesQuestion | RootAdd | Proof | BundleQuestion | LaterEditsQuestion | WayBack | WorkListQuestion | Stop | Interrupt | PasskeyAdd | ModelsQuestion | ModelAdd | ModelCheck | ModelChoose | DecisionResponse | ModelAgain | ModelAnother | Verify | TasksQuestion | CardsQuestion | GrantsQuestion | ActivityQuestion | EvidenceQuestion | SessionsQuestion | DeadLettersQuestion | MeasuresQuestion | Revive | LedgerTextQuestion | Forget | CommandRunNote | LedgerQuestion} ClientMessage
 */

/**
 * To the page.
 * @typedef {{ type: 'challenge', challenge: string, installation: string }} Challenge
 * @typedef {{ type: 'welcome', device: string, session: string, seq: number, head: number, resumed: boolean, since: SinceView | null, snapshot: Snapshot }} Welcome
 * @typedef {{ type: 'message', seq: number, entry: Entry }} Delivered
 * @typedef {{ type: 'decided', request_id: string, recorded: boolean, message: string, code: string | null }} Decided
 * @typedef {{ type: 'stopped', n_works: number, models: string[] }} Stopped
 * @typedef {{ type: 'beat' }} Beat
 * @typedef {{ type: 'withdrawn', done: boolean, message: string }} WithdrawnAnswer
 * @typedef {{ type: 'proof', proof: ProofView }} ProofAnswer
 * @typedef {{ type: 'bundle', execution: string, bundle: string }} BundleAnswer
 * @typedef {{ type: 'later_edits', execution: string, edits: FileDiff[] }} LaterEditsAnswer
 * @typedef {{ type: 'work_list', from: number, work_list: WorkItemView[], n_more_work: number }} WorkListAnswer
 * @typedef {{ type: 'verified', report: LedgerReport }} Verified
 * @typedef {{ type: 'tasks', tasks: TaskView[] }} TasksAnswer
 * @typedef {{ type: 'cards_page', from: number, cards: Card[], n_more_cards: number }} CardsAnswer
 * @typedef {{ type: 'grants_page', from: number, grants: GrantView[], n_more_grants: number }} GrantsAnswer
 * @typedef {{ type: 'activity_page', before: number, rows: Row[], earlier: number | null }} ActivityAnswer
 * @typedef {{ type: 'evidence', evidence: EvidenceView }} EvidenceAnswer
 * @typedef {{ type: 'sessions', sessions: SessionView[] }} SessionsAnswer
 * @typedef {{ type: 'dead_letters', dead_letters: DeadLetterView[] }} DeadLettersAnswer
 * @typedef {{ type: 'measures', measures: MeasureView[] }} MeasuresAnswer
 * @typedef {{ type: 'ledger_text', entry: LedgerTextView }} LedgerTextAnswer
 * @typedef {{ type: 'models', models: ModelsView }} ModelsAnswer
 * @typedef {{ type: 'asked', card: Card }} Asked
 * @typedef {{ type: 'done', message: string }} Done
 * @typedef {{ type: 'ledger', part: LedgerPart }} LedgerAnswer
 * @typedef {{ type: 'error', code: string, message: string, todo: string }} ErrorMessage
 * @typedef {Challenge | Welcome | Delivered | Decided | Stopped | Beat | WithdrawnAnswer | ProofAnswer | BundleAnswer | LaterEditsAnswer | WorkListAnswer | Verified | TasksAnswer | CardsAnswer | GrantsAnswer | ActivityAnswer | EvidenceAnswer | SessionsAnswer | DeadLettersAnswer | MeasuresAnswer | LedgerTextAnswer | ModelsAnswer | Asked | Done | LedgerAnswer | ErrorMessage | Update} ServerMessage
 */

/**
 * What a device signs to open a session or to read over HTTP, and the doors of pairing.
 * @typedef {{ kind: 'session', challenge: string, installation: string, key: string }} SessionProof
 * @typedef {{ key: string, timestamp: string, nonce: string, signature: Signature, token: string | null }} Credentials
 * @typedef {{ kind: 'read', path: string, installation: string, key: string, timestamp: string, nonce: string }} ReadProof
 * @typedef {{ kind: 'write', method: string, path: string, body: string, installation: string, key: string, timestamp: string, nonce: string }} WriteProof
 * @typedef {{ installation: string, epoch: number, house_rules: HouseRules | null }} PairingScreen
 * @typedef {{ face: Face, offer: Offer, payload: string }} HouseRules
 * @typedef {{ public: string, name: string, proof: string, house_rules: Token | null, replaces: Withdrawal | null }} PairRequest
 * @typedef {{ installation: string, certificate: { body: { key: string }, signature: Signature }, access: string | null }} Paired
 */

/**
 * What the runtime shows.
 * @typedef {{ installation: string, epoch: number, now: string, entries: Entry[], seq: number, cards: Card[], n_more_cards: number, work: WorkView[], outputs: OutputView[], answering: DraftView | null, waiting_for: AskedModelView[], looking: LookView[], activity: ActivityView, grants: GrantView[], n_more_grants: number, devices: DeviceView[], understood: string[], dead_letters: DeadLetterView[], undoable: UndoView[], no_model: string | null, stopped: StopView | null, n_durable_commits: number, leaving: boolean, trouble: TroubleView | null }} Snapshot
 * @typedef {{ code: string, message: string, todo: string }} TroubleView
 * @typedef {{ at: string, n_works: number, n_grants: number, models?: string[] }} StopView
 * @typedef {{ type: 'cards', cards: Card[], n_more_cards: number }} CardsUpdate
 * @typedef {{ type: 'work', work: WorkView }} WorkUpdate
 * @typedef {{ type: 'output', output: OutputView }} OutputUpdate
 * @typedef {{ type: 'activity', activity: ActivityView, grants: GrantView[], n_more_grants: number, devices: DeviceView[], no_model: string | null }} ActivityUpdate
 * @typedef {{ type: 'answered', answered: AnsweredView }} AnsweredUpdate
 * @typedef {{ type: 'draft', draft: DraftView }} DraftUpdate
 * @typedef {{ type: 'waiting_for', waiting_for: AskedModelView[] }} WaitingForUpdate
 * @typedef {{ type: 'looking', looking: LookView[] }} LookingUpdate
 * @typedef {{ model: string, role: string, for_work: boolean, message?: string, since: string, waits_until?: string }} AskedModelView
 * @typedef {{ message: string, text: string, at: string }} LookView
 * @typedef {CardsUpdate | WorkUpdate | OutputUpdate | ActivityUpdate | AnsweredUpdate | DraftUpdate | WaitingForUpdate | LookingUpdate} Update
 * @typedef {{ card: string, verdict: Verdict, device: string, at: string }} AnsweredView
 * @typedef {{ reply: string, text: string, is_second: boolean }} DraftView
 * @typedef {{ role: Role, model: string, host: string, is_local: boolean, key: string, has_key: boolean, price: string, is_configured: boolean, is_agreed: boolean }} ModelView
 * @typedef {{ models: ModelView[], local_only: boolean, day: Spent, month: Spent }} ModelsView
 * @typedef {{ period: string, microusd: number, cap_microusd: number }} Spent
 * @typedef {'proxy' | 'planner' | 'executor'} Role
 * @typedef {{ kind: 'model', model: string, roles: Role[], key: string, price: Price | null, policy_version: number, listener: Listener | null }} ModelGrant
 * @typedef {{ input: number, output: number }} Price
 * @typedef {'yours' | 'nobody' | { another: string }} Listener
 * @typedef {{ at: string, n_entries: number }} SinceView
 * @typedef {{ session: string, session_type: 'stream' | 'side', title: string, created_at: string, last_active: string, turn_count: number, active: boolean, n_waiting: number }} SessionView
 * @typedef {{ execution: string, title: string, until: string }} UndoView
 * @typedef {{ seq: number, at: string, event: string, text: string | null }} LedgerTextView
 * @typedef {'owner' | 'somebody' | 'silas'} Sender
 * @typedef {{ id: string, sender: Sender, in_models_words?: boolean, text: string, answers?: Answering, at: string }} Entry
 * @typedef {{ message: string, came_of: CameOf }} Answering
 * @typedef {'answered' | 'done' | 'begun' | 'asked' | 'refused'} CameOf
 * @typedef {{ execution: string, work_item: string, wish?: string, title: string, place: string, steps: StepView[], running: boolean, started_at: string, footer: string, outcome: Outcome | null, has_proof: boolean }} WorkView
 * @typedef {{ execution: string, printed: PrintedView[] }} OutputView
 * @typedef {{ nth: number, check: string | null, n_left_out: number, text: string }} PrintedView
 * @typedef {{ label: string, state: StepState, took_ms: number | null }} StepView
 * @typedef {'waiting' | 'running' | 'done' | 'failed'} StepState
 * @typedef {{ summary: string, away: PeriodView | null, spent: Spent, rows: Row[], earlier: number | null, n_entries: number, head: Head | null, epoch: number, verified: boolean | null }} ActivityView
 * @typedef {{ from: string, to: string, text: string, microusd: number }} PeriodView
 * @typedef {{ seq: number, at: string, icon: Icon, text: string, note: string, topics: Topic[] }} Row
 * @typedef {{ seq: number, text: string, note: string, facts: Fact[], quotes: Quote[], proof: string | null, holds: boolean, link: Link }} EvidenceView
 * @typedef {'change' | 'decision' | 'refusal' | 'spending'} Topic
 * @typedef {'tick' | 'cross' | 'seal' | 'refused' | 'shield' | 'pen' | 'undo'} Icon
 * @typedef {{ token: string, title: string, text: string, directory: string | null, uses: Uses | null, since: string, until: string | null, signed_on: string }} GrantView
 * @typedef {{ left: number, of: number }} Uses
 * @typedef {{ key: string, name: string, kind: 'browser' | 'terminal' | 'passkey', since: string, is_revoked: boolean, n_grants: number, site: Site | null, digits: string }} DeviceView
 * @typedef {{ rp_id: string, credential: string }} Site
 * @typedef {{ id: string, title: string, state: 'open' | 'done', version: number, created_at: string, done_at: string | null }} TaskView
 * @typedef {{ message: string, text: string, attempts: number }} DeadLetterView
 * @typedef {{ name: string, value: string, target: string, note: string }} MeasureView
 * @typedef {{ run: string, exit_code: number, failed?: string, stdout: string, stderr: string, is_cut: boolean }} RanView
 * @typedef {{ execution: string, title: string, state: ExecutionState, outcome: Outcome, claim: string, caveats: string[], steps: ProofStep[], ran?: RanView[], before: CheckResult[], after: CheckResult[], diffs: FileDiff[], patch: PatchView, no_bundle: string | null }} ProofView
 * @typedef {{ text: string, left_out: string[], n_hidden: number }} PatchView
 * @typedef {{ execution: string, work_item: string, title: string, place: string, state: ExecutionState, outcome: Outcome | null, files: number, started_at: string, ended_at: string | null, undo_until: string | null, has_proof: boolean }} WorkItemView
 * @typedef {{ title: string, note: string }} ProofStep
 * @typedef {{ after: number, links: Link[], head: Head | null }} LedgerPart
 * @typedef {{ seq: number, hash: string }} Head
 * @typedef {{ seq: number, at: string, event: string, body: string, prev: string, hash: string }} Link
 * @typedef {{ n_entries: number, head: string | null, broken: string | null, n_forgotten: number }} LedgerReport
 */

/**
 * Cards.
 * @typedef {'low' | 'medium' | 'high' | 'irreversible'} Risk
 * @typedef {'pairing' | 'house_rules' | 'root' | 'passkey' | 'model' | 'budget' | 'secure_input' | 'model_choice' | 'decision' | 'plan' | 'step' | 'rehearsed' | 'done' | 'report' | 'refusal' | 'conflict' | 'unknown_effect'} CardKind
 * @typedef {'approve' | 'rehearse' | 'redo' | 'decline' | 'change' | 'proof' | 'look' | 'dismiss' | 'store' | 'choose' | 'answer' | 'again' | 'another'} Press
 * @typedef {{ press: Press, label: string, consequence: string }} Cta
 * @typedef {{ label: string, text: string }} Fact
 * @typedef {{ title: string, lines: string[] }} Detail
 * @typedef {{ outcome: Outcome, claim: string, caveats: string[], before: CheckResult[], after: CheckResult[] }} EvidenceBlock
 * @typedef {{ who: string, text: string }} Quote
 * @typedef {{ says: string, execution: string, shown?: Version[], compare?: Compared[] }} Versions
 * @typedef {{ path: string, lines: DiffLine[], kept?: number[] }} Compared
 * @typedef {{ whose: string, at?: string, lines: string[], kept?: number[], more?: number }} Version
 * @typedef {{ kind: CardKind, risk: Risk | null, state: string, intent: string, facts: Fact[], evidence: EvidenceBlock | null, versions?: Versions, rationale: string, asked?: string, quote?: Quote, details_title: string, details: Detail[], diffs: FileDiff[], ctas: Cta[] }} Face
 * @typedef {'open' | 'parked' | 'answered' | 'closed'} CardState
 * @typedef {{ id: string, state: CardState, created_at: string, face: Face, offer: Offer | null, show_first?: Offer, payload: string | null, instead?: Instead, input?: Input, test_call?: boolean, execution?: string }} Card
 * @typedef {{ offer: Offer, payload: string }} Instead
 * @typedef {({ type: 'secret' } & SecureInput) | ({ type: 'model' } & ModelChoice) | ({ type: 'inquiry' } & Inquiry)} Input
 * @typedef {{ by: string, to: string, wish: string, question: string, options: string[], taint: 'owner' | 'auth' | 'external', expires_at: string }} Inquiry
 * @typedef {{ ref_id: string, label: string, input_hint: string | null, guidance: Guidance, wanted_by: WantedBy, expires_at: string }} SecureInput
 * @typedef {{ instructions: string, help_url: string | null }} Guidance
 * @typedef {{ type: 'plan', name: string } | { type: 'model', model: string, then: ModelGrant | null }} WantedBy
 * @typedef {{ choices: ModelOption[], tried?: Provider, expires_at: string }} ModelChoice
 * @typedef {{ provider: Provider, title: string, note: string, model: string, takes_url: boolean, url?: string, price?: Price, key: KeyState, facts: Fact[] }} ModelOption
 * @typedef {'openrouter' | 'openai' | 'anthropic' | 'ollama' | 'compatible'} Provider
 * @typedef {'none' | 'needed' | 'kept'} KeyState
 * @typedef {'none' | 'kept' | 'new'} KeyWanted
 */

/**
 * What is signed.
 * @typedef {'plan' | 'house_rules' | 'rehearsal' | 'apply' | 'undo' | 'root' | 'device' | 'step' | 'model' | 'budget'} Kind
 * @typedef {'approved' | 'declined' | 'edit_requested' | 'conditional'} Verdict
 * @typedef {{ v: number, kind: Kind, scope: string, installation: string, epoch: number, work_item_id: string, plan_hash: string, shown: string, nonce: string, issued_at: string, expires_at: string, max_executions: number, approval_strength: string, conditions: Record<string, string> }} Offer
 * @typedef {{ offer: Offer, key: string, verdict: Verdict }} TokenBody
 * @typedef {{ body: TokenBody, signature: Signature }} Token
 * @typedef {{ alg: 'ed25519' | 'es256' | 'webauthn-es256', key: string, sig: string }} Signature
 * @typedef {{ text: string, timestamp: string, nonce: string, installation: string, scope: string }} MessageBody
 * @typedef {{ body: MessageBody, signature: Signature }} SignedMessage
 * @typedef {{ v: number, kind: 'browser' | 'terminal' | 'passkey', installation: string, name: string, key: string, public: string, issued_at: string, site?: Site }} CertificateBody
 * @typedef {{ body: CertificateBody, signature: Signature }} Certificate
 * @typedef {{ token: Token, certificate: Certificate, envelope: string, outcome: string }} CommandRun
 * @typedef {{ kind: 'withdrawal', installation: string, epoch: number, key: string, what: Withdrawn, nonce: string, timestamp: string }} WithdrawalBody
 * @typedef {{ device: string } | { grant: string } | { grants: string[] }} Withdrawn
 * @typedef {{ body: WithdrawalBody, signature: Signature }} Withdrawal
 */

/**
 * Checks and changes.
 * @typedef {{ name: string, run?: string, passed: boolean, reason: string, output: string, exit_code: number | null, took_ms: number, protected: boolean, tests: Tests | null, asked: string[], basis?: Basis }} CheckResult
 * @typedef {{ by: 'tests' | 'exit_code', changed?: string[], new?: string[], gone?: string[], as_approved?: string[], declared?: { by: 'owner' | 'model', files: string[] }, beside?: string[], committed_otherwise?: string[], why_not?: string }} Basis
 * @typedef {{ runner: string, passed: number, failed: number, skipped: number }} Tests
 * @typedef {'proved' | 'green_by_exit_code' | 'guarded' | 'failed' | 'unproven'} Outcome
 * @typedef {'running' | 'rehearsed' | 'applied' | 'ended' | 'undone'} ExecutionState
 * @typedef {{ directory?: string, path: string, renamed_from?: string, mode_before?: FileMode, mode_after?: FileMode, added: number, removed: number, lines: DiffLine[] | null, is_verbatim?: boolean }} FileDiff
 * @typedef {{ file: number } | 'link'} FileMode
 * @typedef {{ same: string } | { added: string } | { removed: string } | { gap: number } | { not_shown: number }} DiffLine
 */

export {};
