import BothyStore

/// Policies and closures for one type, by its entity.
extension MergePolicies {
  /// Sets the policy of one type.
  ///
  /// - Parameter kinds: the local changes that it applies to. If empty, it applies to all without a policy of their own
  ///   for the type. So the order of such calls doesn't matter.
  public mutating func set<E: Entity>(
    _ policy: MergePolicy, for type: E.Type, on kinds: Set<ChangeKind> = []
  ) {
    var own = types[E.typeName] ?? PerType()
    if kinds.isEmpty { own.default = policy }
    if kinds.contains(.insert) { own.inserts = policy }
    if kinds.contains(.update) { own.updates = policy }
    if kinds.contains(.delete) { own.deletes = policy }
    types[E.typeName] = own
  }

  /// Sets a rule of the app's own for one type, which receives the record as values of that type.
  ///
  /// It may suspend and throw, and runs outside any transaction, as a `MergePolicy.custom` does. If a side can't be
  /// read as the type, the rule doesn't run. The record then stays pending and the failure is reported.
  ///
  /// ```swift
  /// var options = SyncOptions()
  /// options.merging.set(for: Hut.self) { conflict in
  ///   guard let local = conflict.local, var merged = conflict.suggestion else { return .remote }
  ///   merged.beds = local.beds
  ///   return .merged(merged)
  /// }
  /// ```
  ///
  /// - Parameter kinds: as for a policy.
  public mutating func set<E: Entity>(
    for type: E.Type, on kinds: Set<ChangeKind> = [],
    _ rule: @escaping @Sendable (Conflict<E>) async throws -> Resolution<E>
  ) {
    let policy = MergePolicy.custom(E.typeName) { context in
      try await TypedConflict<E>(context).decide(rule)
    }
    set(policy, for: type, on: kinds)
  }
}

/// The sides of one conflict as documents and as values, and the conversion of a value back to a document.
private struct TypedConflict<E: Entity> {
  private let table: TypeTable
  private let change: ChangeKind
  private let base: Side?
  private let local: Side?
  private let remote: Side?
  private let suggestion: Side?
  /// The side that a merged value is laid on.
  private let ground: Side?

  /// Throws `MergeError` if a side can't be read as the type.
  init(_ context: MergeContext) throws {
    guard let table = context.table else {
      throw MergeError(message: "The store's schema has no type \(E.typeName), so its rule was not asked.")
    }
    func side(_ name: String, _ members: [String: JSONValue]?) throws -> Side? {
      do { return try members.map { try Side($0, context.record, table) } } catch {
        throw MergeError(
          message:
            "\(context.record) can't be read as \(E.typeName) as it is \(name), so its rule was not asked: "
            + "\(error) Update the app, or decide about the rejected change.")
      }
    }
    self.table = table
    change = context.operation
    base = try side("in the base", context.base)
    local = try side("here", context.client)
    remote = try side("on the server", context.serverFields)
    let merged: [String: JSONValue]? =
      switch FieldMerge.decide(context) {
      case .client: context.client
      case .server: context.serverFields
      case .merged(let members): members
      }
    // A merge that isn't a value of the type can't be a suggestion.
    suggestion = try? side("merged", merged)
    ground = try remote ?? local ?? side("deleted", context.deleted)
  }

  func decide(
    _ rule: @Sendable (Conflict<E>) async throws -> Resolution<E>
  ) async throws -> MergeDecision {
    let conflict = Conflict(
      base: base?.entity, local: local?.entity, remote: remote?.entity, suggestion: suggestion?.entity,
      change: change)
    switch try await rule(conflict) {
    case .local: return .client
    case .remote: return .server
    case .merged(let entity): return .merged(try members(of: entity))
    }
  }

  /// Returns the document of a merged value. Where the value has nothing new, the content beneath it stays: members
  /// without a field, and content that a field's own type leaves out.
  private func members(of entity: E) throws -> [String: JSONValue] {
    let given = AnyRecord(entity)
    var row =
      ground?.row ?? StoredRow(values: table.schema.fields.map { $0.defaultValue ?? .null })
    row.unknownFields = nil
    for name in E.schema.fields.map(\.name) {
      let value = given[name]
      guard let position = table.positions[name] else {
        if value.isNull { continue }
        throw MergeError(
          message: "The merged record has a field '\(name)', which \(table.schema.name) has not.")
      }
      // Secrets are sent separately.
      if table.schema.fields[position].isSensitive { continue }
      if let ground, ground.shown[name] == value { continue }
      if let side = [local, suggestion, base].lazy.compactMap({ $0 }).first(where: { $0.shown[name] == value }
      ) {
        if !side.isFilledIn(position, table) { row.values[position] = side.row.values[position] }
        continue
      }
      guard value.fits(table.schema.fields[position]) else {
        throw MergeError(message: "The merged record's \(table.schema.name).\(name) does not fit its field.")
      }
      row.values[position] = value
    }
    if let ground, let carried = try table.carrying(ground.document, in: row, since: ground.document) {
      row = carried
    }
    return try table.document(row).members()
  }

  /// One state of the record.
  private struct Side {
    let document: FieldsDocument
    let row: StoredRow
    let entity: E
    /// The fields as the value returns them, which isn't always how they arrived.
    let shown: AnyRecord

    init(_ members: [String: JSONValue], _ id: RecordID, _ table: TypeTable) throws {
      var isRepaired = false
      document = FieldsDocument(members)
      row = try table.row(
        document, container: id.type, version: nil, upTo: JSONReader.maximumValueDepth + 1,
        repaired: &isRepaired)
      var record = AnyRecord(E.typeName, id: id.id)
      for (field, value) in zip(table.schema.fields, row.values) { record[field.name] = value }
      entity = try record.entity()
      shown = AnyRecord(entity)
    }

    /// True if the field's value here was filled in and never written, because its content can't be read.
    func isFilledIn(_ position: Int, _ table: TypeTable) -> Bool {
      let field = table.schema.fields[position]
      if field.refusal(of: row.values[position]) != nil { return true }
      // Written by this module, so it parses.
      let aside = row.unknownFields.flatMap { try? JSONValue(parsing: $0).objectValue } ?? [:]
      let names = table.asideNames[position]
      guard aside[names[0]] != nil else { return false }
      // Content that can't be read gave no value.
      return !names.contains { name in
        aside[name].flatMap { try? field.value(from: $0) } == row.values[position]
      }
    }
  }
}
