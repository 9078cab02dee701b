import BothyStore

/// A change on its way to the server: what was made of the record here, fixed once, beside what the server last told.
struct OnlineDraft: Error, Sendable {
  /// The record as it is here with the change, and as the server last told of it.
  var context: MergeContext
  var kind: Operation.Kind
  /// What the operation is made against; nil where the server is not known to have the record.
  var base: OutboxEntry.Base?
  var sharing: SharingChange?
  /// The sharing that the server last told of.
  var knownSharing = Sharing.nobody
  /// The values of sensitive fields, which are not part of what is kept of an operation.
  var secrets: [SecretKey: String] = [:]
  /// False when there is nothing to tell the server.
  var isNeeded = true
  /// The operation that was sent last.
  var sent: Operation?
  /// The fields that the caller gave, where it gave some alone and nothing is known of the record here.
  var given: [String: JSONValue]?
  /// The value that the app saves; nil where it saves none.
  var value: SavedValue?
  /// What the server last told of the record before the change.
  var told: ServerRecord?
  /// An operation in doubt that the change was made after, and that is to be sent before it.
  var earlier: Operation?
  /// Whether it is laid on the answer to an earlier one.
  var isFollowing = false

  /// Whether a conflict was met: then `base` is what the server answered with.
  var isRebased = false
  /// Whether the record is a merge of both sides.
  var isMerged = false
  /// The local content that gave way.
  var lost: Overwritten?
  /// What was asked when that gave way, and what it was made against.
  private(set) var kindOfLost: Operation.Kind?
  private(set) var lostBase: FieldsDocument?
  /// The container that it was put in here and is not in.
  private(set) var lostPlace: String?

  init(_ context: MergeContext, kind: Operation.Kind, base: OutboxEntry.Base?) {
    self.context = context
    self.kind = kind
    self.base = base
  }

  /// What is still to be sent; nil when the server has it all.
  func operation(_ id: String) throws -> Operation? {
    guard isNeeded else { return nil }
    var fields: [String: JSONValue] = [:]
    if kind != .delete {
      fields = try PushBatchBuilder.changedFields(FieldsDocument(context.client ?? [:]), since: base)
    }
    let isMoved = context.container != nil && context.container != context.baseContainer
    if isRebased || isFollowing, fields.isEmpty && !isMoved && sharing == nil && secrets.isEmpty {
      if kind == .update || (kind == .delete && base == nil) { return nil }
    }
    let own = context.container == context.record.type ? nil : context.container
    return Operation(
      id: id, kind: kind, record: context.record,
      container: kind == .insert ? own : kind == .update && isMoved ? context.container : nil,
      base: base?.version, fields: fields, sharing: kind == .delete ? nil : sharing)
  }

  /// The record as the server has it after the operation; nil when that has deleted it.
  func result(of operation: Operation, _ version: String, _ modified: Int64, _ record: ServerRecord?) throws
    -> ServerRecord?
  {
    if operation.kind == .delete { return nil }
    if let record { return record }
    let sharing = operation.sharing?.applied(to: knownSharing) ?? knownSharing
    return ServerRecord(
      id: operation.record,
      container: (operation.kind == .insert ? context.container : operation.container)
        ?? context.baseContainer, version: version,
      modified: modified, fields: try Settlement.result(of: operation, on: base), sharing: sharing)
  }

  // MARK: conflicts

  /// The server's fields with the change on top, where both sides changed different ones; nil where they did not.
  func disjoint() -> [String: JSONValue]? {
    guard context.operation == .update, let base = context.base, let client = context.client,
      var merged = context.serverFields, !context.isMovedByBoth
    else { return nil }
    for name in Set(client.keys).union(base.keys) where client[name] != base[name] {
      guard merged[name] == base[name] else { return nil }
      merged[name] = client[name]
    }
    return merged
  }

  /// Shows the draft what the server has.
  mutating func meet(_ current: ServerRecord?) throws {
    context.server = current
    context.serverFields = try current.flatMap { $0.isDeleted ? nil : try $0.fields.members() }
    guard let given, let current, let fields = context.serverFields else { return }
    // What else there is of the record is as the server has it.
    context.operation = .update
    context.base = fields
    context.client = fields.merging(given) { $1 }.filter { !$0.value.isNull }
    if context.container == context.baseContainer { context.container = current.container }
    context.baseContainer = current.container
    base = OutboxEntry.Base(current)
    value?.read = fields
    self.given = nil
  }

  /// Lays the change on what the server has, as was decided.
  mutating func rebase(_ decision: MergeDecision) throws {
    let live = context.server.flatMap { $0.isDeleted ? nil : $0 }
    let result: [String: JSONValue]? =
      switch decision {
      case .client: context.client
      case .server: context.serverFields
      case .merged(let fields): fields
      }
    let there = live?.container
    let container = result == nil ? nil : container(with: there, decision)
    try note(result, in: container, decision)
    context.container = container
    context.baseContainer = there ?? context.baseContainer
    context.client = result
    context.base = context.serverFields
    base = live.map { OutboxEntry.Base($0) }
    kind = result == nil ? .delete : live == nil ? .insert : .update
    context.operation = kind
    knownSharing = live?.sharing ?? .nobody
    sharing = sharing?.rest(over: knownSharing)
    isRebased = true
  }

  private var isMovedHere: Bool { context.container != nil && context.container != context.baseContainer }

  /// Where the record is after the decision. Of two moves the server's stands, unless this side was chosen.
  private func container(with there: String?, _ decision: MergeDecision) -> String? {
    let followsServer = decision == .server || !isMovedHere
    if let there, followsServer || there != context.baseContainer && decision != .client { return there }
    return context.container ?? there ?? context.baseContainer
  }

  /// Notes what of the change is not in the result.
  private mutating func note(
    _ result: [String: JSONValue]?, in container: String?, _ decision: MergeDecision
  ) throws {
    if decision == .client { return }
    isMerged = isMerged || context.client != context.base || isMovedHere
    let fields = context.client.map { FieldsDocument($0) }
    let wasLost = lost != nil
    let losesPlace = (base == nil || isMovedHere) && context.container != container
    defer {
      if lost != nil && !wasLost {
        kindOfLost = context.operation
        lostBase = context.base.map { FieldsDocument($0) }
        lostPlace = losesPlace || container == nil ? context.container : nil
      }
    }
    guard let fields, let result else {
      if fields != nil || result != nil { lost = lost ?? Overwritten(record: context.record, fields: fields) }
      return
    }
    let before = context.base.map { OutboxEntry.Base(version: "", fields: FieldsDocument($0)) }
    let losesEdit = try Settlement.losesEdit(fields, before, FieldsDocument(result))
    if losesEdit || losesPlace { lost = lost ?? Overwritten(record: context.record, fields: fields) }
  }
}

extension OnlineDraft {
  /// What the journal says was asked.
  var lostKind: Operation.Kind { kindOfLost ?? kind }

  /// What gave way to what the server has.
  func loss(to now: ServerRecord?, in schema: TypeSchema) throws -> Journal.Loss {
    try Journal.Loss(lost?.fields, since: lostBase, now: now, place: lostPlace, in: schema)
  }
}
