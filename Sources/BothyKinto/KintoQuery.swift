import BothyHTTP
import BothyStore
import BothySync

/// Runs queries over one type.
///
/// Kinto's filters are used only if they select at least the records of the query. The result is then checked here by
/// the usual rules, so it is exact. Kinto compares text by the collation of its database, and lets records without a
/// field pass order comparisons. It has no text search, places or `or`, so such queries read all records of the type.
/// Its order isn't used either.
struct KintoQuery: Sendable {
  let space: KintoSpace
  let schema: StoreSchema?

  private static let pageSize = 1000
  /// The largest number of ids that are requested one by one.
  private static let idLimit = 2000

  /// A result without regard to limit and offset.
  struct Matches: Sendable {
    var records: [ServerRecord]
    /// The collection's timestamp at the start of the read. `nil` if ids were requested, or if the collection is
    /// missing.
    var stamp: Int64?
  }

  /// Returns the records of the query, in its order.
  func answer(_ query: AnyQuery) async throws(RemoteError) -> Matches {
    let judge = try Judge(query, schema)
    var found: [(AnyRecord, ServerRecord)] = []
    var stamp: Int64?
    func take(_ json: JSONValue?) throws(RemoteError) {
      guard let record = KintoRecord(json, type: query.type), !record.isDeleted else { return }
      let change = record.serverRecord
      if let judged = try judge.judge(change) { found.append((judged, change)) }
    }
    if let ids = Self.ids(query.filter), ids.count <= Self.idLimit {
      let requests = Set(ids).sorted().map {
        KintoRequest(method: "GET", path: space.record(RecordID(type: query.type, id: $0)))
      }
      for answer in try await space.client.read(requests).value where answer.status != 404 {
        if try await space.isMissing(answer) { return Matches(records: []) }
        if let error = answer.error { throw error }
        try take(answer.body["data"])
      }
    } else {
      stamp = try await forEachPage(ofType: query.type, filter: Self.filter(query, judge.type)) {
        data throws(RemoteError) in
        for json in data { try take(json) }
      }
    }
    return Matches(records: try judge.order(found), stamp: stamp)
  }

  /// Returns the number of records. Costs one request for all of a type, otherwise as much as `answer`.
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    guard query.filter == .all, query.container == nil else { return try await answer(query).records.count }
    let answer = try await space.client.send(
      KintoRequest(method: "HEAD", path: space.records(ofType: query.type))
    ).value
    if answer.status == 403 || answer.status == 404 {
      return try await self.answer(query).records.count  // a response to HEAD does not name the missing part
    }
    if let error = answer.error { throw error }
    guard let total = answer.headers["total-objects"].flatMap({ Int($0) }) else {
      throw BothyRemote.unreadable("the count of '\(query.type)'")
    }
    return total
  }

  /// Computes the digest of a scope. Reads every record of the space.
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    let listing = try await space.client.send(space.listing).value
    var sum = DigestSum()
    for collection in try await space.collections(listing) {
      try await forEachPage(ofType: collection.type, filter: "") { data throws(RemoteError) in
        for json in data {
          guard let record = KintoRecord(json, type: collection.type)?.serverRecord, !record.isDeleted,
            scope.contains(record.container)
          else { continue }
          sum.add(record.id, fields: record.fields.bytes)
        }
      }
    }
    return sum.digest(of: scope)
  }

  /// Visits all records of a type in the order of their ids, so that each is visited exactly once.
  ///
  /// Returns the collection's timestamp at the start.
  @discardableResult
  private func forEachPage(
    ofType type: String, filter: String, _ body: ([JSONValue]) throws(RemoteError) -> Void
  ) async throws(RemoteError) -> Int64? {
    let path = space.records(ofType: type) + "?_sort=id&_limit=\(Self.pageSize)" + filter
    var token: String?
    var stamp: Int64?
    repeat {
      let request = KintoRequest(method: "GET", path: path + (token.map { "&_token=" + $0 } ?? ""))
      let answer = try await space.client.send(request).value
      if try await space.isMissing(answer) { return nil }
      if let error = answer.error { throw error }
      guard let data = answer.body["data"]?.arrayValue else {
        throw BothyRemote.unreadable("a listing of '\(type)'")
      }
      try body(data)
      token = answer.nextPage
      stamp = stamp ?? answer.timestamp
    } while token != nil
    return stamp
  }
}

// MARK: what Kinto can select

extension KintoQuery {
  /// Returns the ids if the condition limits the query to known ids, else `nil`.
  static func ids(_ condition: ConditionTree) -> [String]? {
    switch condition {
    case .compare(field: "id", .equal, .text(let id)): return [id]
    case .oneOf(field: "id", let values): return values.compactMap(\.text)
    case .and(let parts): return parts.lazy.compactMap { ids($0) }.first
    default: return nil
    }
  }

  /// Returns the parameters of a listing that exclude only records outside the query: equalities that must all hold.
  ///
  /// Dates and UUIDs aren't among them, because other clients may write the equal value as other text.
  static func filter(_ query: AnyQuery, _ type: TypeSchema) -> String {
    var filter = ""
    for case .compare(let field, .equal, let value) in conjuncts(query.filter) {
      let json: JSONValue? =
        switch value {
        case .text(let text) where type[field]?.kind != .uuid: .string(text)
        case .int(let number): .int(number)
        case .bool(let flag): .bool(flag)
        default: nil
        }
      guard let json, isFilterable(field), KintoRecord.member(of: field) == field else { continue }
      filter += "&eq_\(field)=" + BothyRemote.encoded(json.canonicalText)
    }
    if let container = query.container, container != query.type {
      filter += "&eq__container=" + BothyRemote.encoded(JSONValue.string(container).canonicalText)
    }
    return filter
  }

  private static func conjuncts(_ condition: ConditionTree) -> [ConditionTree] {
    if case .and(let parts) = condition { parts.flatMap(conjuncts) } else { [condition] }
  }

  private static func isFilterable(_ field: String) -> Bool {
    QueryField.pseudo(field) == nil
      && field.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
      }
  }
}

/// Applies the query's own rules to records.
private struct Judge {
  let query: AnyQuery
  let type: TypeSchema
  let isGuessed: Bool

  init(_ query: AnyQuery, _ schema: StoreSchema?) throws(RemoteError) {
    isGuessed = schema == nil
    do throws(BothyError) {
      var query = query
      if let schema {
        guard let declared = schema[query.type] else {
          throw BothyError(.unknownType, "The schema has no type '\(query.type)'.")
        }
        type = declared
      } else {
        query.include = []
        type = try query.guessedType()
      }
      self.query = try query.checked(for: type)
    } catch {
      throw RemoteError(.rejected, error.message, code: error.code.description)
    }
  }

  /// Returns the record with its values, or `nil` if it isn't selected.
  func judge(_ record: ServerRecord) throws(RemoteError) -> AnyRecord? {
    let read: AnyRecord
    do {
      var values: [String: FieldValue] = [:]
      for (name, json) in try record.fields.members() {
        if let field = type[name] { values[name] = value(json, field.kind) }
      }
      var found = AnyRecord(
        query.type, id: record.id.id, values, container: record.container, version: record.version)
      found.origin.metadata = record.metadata
      read = found
    } catch { throw BothyRemote.unreadable("\(record.id)") }
    return query.holds(read, type) ? read : nil
  }

  /// Returns the value of a field. A value that another client wrote in another form counts as missing.
  private func value(_ json: JSONValue, _ kind: ValueKind) -> FieldValue {
    if let value = try? FieldValue(json: json, kind: kind) { return value }  // another form: see below
    guard isGuessed else { return .null }
    return switch json {
    case .bool(let flag): .bool(flag)
    case .int(let number): .int(number)
    case .double(let number): .double(number)
    case .string(let text): .text(text)
    default: .null
    }
  }

  func order(_ found: [(AnyRecord, ServerRecord)]) throws(RemoteError) -> [ServerRecord] {
    var whole = query
    whole.limit = nil
    whole.offset = 0
    let records = Dictionary(found.map { ($0.0.recordID, $0.1) }, uniquingKeysWith: { $1 })
    do throws(BothyError) {
      return try whole.evaluate(over: found.map(\.0), schema: type).compactMap { records[$0.recordID] }
    } catch { throw RemoteError(.rejected, error.message, code: error.code.description) }
  }
}
