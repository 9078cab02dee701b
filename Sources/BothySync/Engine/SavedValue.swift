import BothyStore

/// A value of the app's that goes to the server first, as it was given.
struct SavedValue: Sendable {
  /// All fields that are not sensitive: those that were not given are as they are here.
  var fields: [String: JSONValue]
  /// The record as the change of it was made on.
  var read: [String: JSONValue]
  /// Which state of the record the value is about.
  var mark: Int64

  /// Nil for a change that saves no value.
  init?(_ change: LocalChange, _ context: MergeContext, _ table: TypeTable) throws {
    guard let record = change.saved else { return nil }
    fields = context.client ?? [:]
    for (name, value) in try change.given(table.schema).fields { fields[name] = value.isNull ? nil : value }
    read = context.base ?? [:]
    mark = record.origin.mark.number
  }

  /// Whether it is `earlier`, edited since: read in the same state, and with an edit of that one, or with none of
  /// what was read.
  func goesOn(_ earlier: SavedValue) -> Bool {
    guard mark == earlier.mark else { return false }
    let edited = Set(earlier.fields.keys).union(earlier.read.keys).filter {
      earlier.fields[$0] != earlier.read[$0]
    }
    if edited.contains(where: { fields[$0] == earlier.fields[$0] }) { return true }
    return !edited.contains { fields[$0] == earlier.read[$0] }
  }
}

extension OnlineDraft {
  /// Whether the value that is saved is the one that was sent last, edited since.
  func goesOn(_ last: SentValues.Sent) -> Bool {
    guard let value, let earlier = last.draft.value else { return false }
    return value.goesOn(earlier)
  }

  private func isTold(since answer: ServerRecord) -> Bool {
    told.map { $0.version.isNewer(than: answer.version) } ?? false
  }

  /// Makes the change one of what the server has made of the last one. What of the record the caller has as it was sent, or
  /// as it was read, is no change.
  mutating func follow(_ last: SentValues.Sent, _ answer: ServerRecord) throws {
    // Each field of a value without a mark is meant as it is.
    if last.answer != nil, value?.mark == ReadMark.whole.number { return }
    let goesOn = goesOn(last)
    let isToldSince = isTold(since: answer)
    let now = isToldSince ? told ?? answer : answer
    if now.isDeleted || !goesOn && (isToldSince || context.base == nil) { return }
    let fields = try now.fields.members()
    let schema = context.schema
    if let value, let earlier = last.draft.value, goesOn {
      context.client = value.fields.laid(on: fields, since: earlier.fields, schema)
    } else if let client = context.client {
      context.client = client.laid(on: fields, since: context.base ?? [:], schema)
    }
    if context.container == context.baseContainer { context.container = now.container }
    context.baseContainer = now.container
    context.base = fields
    context.server = now
    context.serverFields = fields
    base = OutboxEntry.Base(now)
    kind = kind == .delete ? .delete : .update
    context.operation = kind
    if !isToldSince { knownSharing = answer.sharing }
    sharing = sharing?.rest(over: knownSharing)
    given = nil
    isFollowing = true
  }
}

extension [String: JSONValue] {
  /// The fields with one person's later changes of them since `base`: of two edits of a field the later stands; counts, sets
  /// and the like have both.
  func laid(on earlier: Self, since base: Self, _ schema: TypeSchema?) -> Self {
    FieldMerge.merge(base: base, client: self, server: earlier, clientIsLater: true) {
      schema?[$0]?.merge.ofOnePerson ?? .client
    }
  }
}
