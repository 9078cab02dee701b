import BothyStore

/// Translates messages between the names of the wire and those of this device's schema.
extension WireNames {
  // MARK: to the wire

  func wire(_ request: SyncRequest) -> SyncRequest {
    var request = request
    request.operations = request.operations.map(wire)
    request.pulls = request.pulls.map { .init(wire($0.scope), cursor: $0.cursor) }
    return request
  }

  func wire(_ operation: SyncOperation) -> SyncOperation {
    var operation = operation
    operation.record = wire(operation.record)
    operation.container = operation.container.map(wire(container:))
    guard let names = fields(of: local(type: operation.record.type)) else { return operation }
    operation.fields = renamed(operation.fields, names.wire)
    operation.secrets = Secrets(renamed(operation.secrets.values, names.wire))
    return operation
  }

  func wire(_ scope: SyncScope) -> SyncScope {
    SyncScope(container: wire(container: scope.container), includesChildren: scope.includesChildren)
  }

  func wire(_ query: AnyQuery) -> AnyQuery {
    var query = query
    let names = fields(of: query.type)
    query.type = wire(type: query.type)
    query.container = query.container.map(wire(container:))
    guard let names else { return query }
    return query.renamingFields(names.wire)
  }

  func wire(_ query: HistoryQuery) -> HistoryQuery {
    var query = query
    query.scope = wire(query.scope)
    query.record = query.record.map(wire)
    return query
  }

  /// Returns the canonical fields of a record by the names of the wire. `type` is its local name.
  func wire(_ fields: [UInt8], of type: String) -> [UInt8] {
    guard let names = self.fields(of: type) else { return fields }
    return FieldsDocument(canonical: fields).renamed(names.wire).bytes
  }

  // MARK: from the wire

  func local(_ response: SyncResponse, to request: SyncRequest) -> SyncResponse {
    var response = response
    let types = Dictionary(
      request.operations.map { ($0.id, $0.record.type) }, uniquingKeysWith: { first, _ in first })
    response.outcomes = response.outcomes.map { outcome in
      var outcome = outcome
      outcome.verdict = local(outcome.verdict, of: types[outcome.operation] ?? "")
      return outcome
    }
    response.pages = response.pages.map { page in
      var page = page
      page.scope = local(page.scope)
      page.changes = page.changes.map(local)
      page.outOfScope = page.outOfScope.map(local)
      page.types = page.types.map(local(type:))
      page.unreadable = page.unreadable.map { record in
        var record = record
        record.record = local(record.record)
        record.container = local(container: record.container)
        return record
      }
      return page
    }
    return response
  }

  func local(_ record: ServerRecord) -> ServerRecord {
    var record = record
    record.id = local(record.id)
    record.container = local(container: record.container)
    if let names = fields(of: record.id.type) { record.fields = record.fields.renamed(names.local) }
    return record
  }

  func local(_ scope: SyncScope) -> SyncScope {
    SyncScope(container: local(container: scope.container), includesChildren: scope.includesChildren)
  }

  /// Returns each of the scopes once, by the local name of its container.
  func present(_ scopes: [SyncScope]) -> [SyncScope] {
    if isPlain { return scopes }
    return scopes.reduce(into: []) { found, scope in
      let scope = SyncScope(
        container: present(container: scope.container), includesChildren: scope.includesChildren)
      if !found.contains(scope) { found.append(scope) }
    }
  }

  func local(_ digest: ScopeDigest) -> ScopeDigest {
    var digest = digest
    digest.scope = local(digest.scope)
    return digest
  }

  func local(_ history: ChangeHistory) -> ChangeHistory {
    var history = history
    history.entries = history.entries.map { entry in
      var entry = entry
      entry.record = local(entry.record)
      entry.container = local(container: entry.container)
      entry.movedFrom = entry.movedFrom.map(local(container:))
      if let names = fields(of: entry.record.type) { entry.fields = entry.fields.map(names.local) }
      return entry
    }
    return history
  }

  /// - Parameter type: the type of the operation, by its local name.
  private func local(_ verdict: Outcome.Verdict, of type: String) -> Outcome.Verdict {
    switch verdict {
    case .applied(let version, let modified, let record):
      return .applied(version: version, modified: modified, record: record.map(local))
    case .duplicate(let version, let modified, let record):
      return .duplicate(version: version, modified: modified, record: record.map(local))
    case .conflict(let current): return .conflict(current: current.map(local))
    case .rejected(var rejection):
      let names = fields(of: type)
      for index in rejection.fields.indices {
        rejection.fields[index].record = rejection.fields[index].record.map(local)
        if let names { rejection.fields[index].field = names.local(rejection.fields[index].field) }
      }
      return .rejected(rejection)
    case .waiting: return verdict
    }
  }

  private func renamed<Value>(_ members: [String: Value], _ rename: (String) -> String) -> [String: Value] {
    Dictionary(members.map { (rename($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }
}

extension FieldsDocument {
  /// Returns the members under other names, without those for which `rename` returns `nil`. Leaves a document that can't
  /// be read as it is, for its reader to find. Values may be nested to any depth.
  func renamed(_ rename: (String) -> String?) -> FieldsDocument {
    var members: [(name: String, value: [UInt8])] = []
    do {
      try JSONReader.read(bytes, upTo: .max) { reader in
        try reader.object { name, reader in
          let value = try reader.rawValue(upTo: .max)
          if let name = rename(name) { members.append((name, value)) }
        }
      }
    } catch { return self }  // its reader finds the same error and reports it
    members.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    var writer = JSONWriter(reserving: bytes.count + 32)
    writer.beginObject()
    for (name, value) in members {
      writer.key(name)
      writer.raw(value)
    }
    writer.endObject()
    return FieldsDocument(canonical: writer.bytes)
  }
}

extension AnyQuery {
  /// Returns the query with other names for its fields.
  func renamingFields(_ rename: (String) -> String) -> AnyQuery {
    var query = self
    query.filter = query.filter.renamingFields(rename)
    query.order = query.order.map { key in
      var key = key
      key.field = rename(key.field)
      return key
    }
    query.include = query.include.map(rename)
    return query
  }
}
