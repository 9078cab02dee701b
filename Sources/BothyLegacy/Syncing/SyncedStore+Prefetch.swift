package import BothyStore
package import BothySync

/// Records ahead of need: those of a query, and the records that they refer to.
extension SyncedStore {
  /// The most steps that a prefetch follows.
  package static var prefetchDepthLimit: Int { 3 }

  /// Downloads the records of a query and the records that they refer to, for use without a network.
  ///
  /// Uses the read policy in force, or `.remoteElseLocal` if that is `.local`. Costs one fetch, then one round trip for
  /// each step, type and thousand records that are missing. Only the first step's records are requested again if they
  /// are on this device. Pending changes are never replaced.
  ///
  /// - Parameters:
  ///   - paths: the references to follow; none means every reference field of whatever is reached.
  ///   - depth: how many steps of them, at most `prefetchDepthLimit`.
  /// - Returns: how much was reached, and what could not be had: under `.local`, all that isn't here.
  /// - Throws: `BothyError` `invalidQuery` for a path that isn't valid or is too long, `BothyError`.
  @discardableResult
  package func prefetch(
    _ query: AnyQuery, including paths: [ReferencePath] = [], depth: Int = SyncedStore.prefetchDepthLimit,
    options: RequestOptions = RequestOptions()
  ) async throws -> Prefetch {
    let limit = Self.prefetchDepthLimit
    guard (0...limit).contains(depth), paths.allSatisfy({ $0.steps.count <= limit }) else {
      throw BothyError(.invalidQuery, "A prefetch follows at most \(limit) steps of references.")
    }
    var options = options
    let policy = options.readPolicy ?? self.options.readPolicy
    options.readPolicy = policy == .local && options.readPolicy == nil ? .remoteElseLocal : policy
    let first = try await fetchResult(query, options: options).records
    var prefetch = Prefetch(records: Set(first.map(\.recordID)))
    if paths.isEmpty {
      try await follow(first, depth, options, &prefetch)
    } else {
      for path in paths { try await follow(first, path.steps.prefix(depth), options, &prefetch) }
    }
    return prefetch
  }

  private func follow(
    _ start: [AnyRecord], _ depth: Int, _ options: RequestOptions, _ prefetch: inout Prefetch
  ) async throws {
    var reached = start
    for _ in 0..<depth {
      var targets: [RecordID] = []
      for record in reached {
        for field in store.schema[record.type]?.fields ?? [] {
          targets += field.targets(of: record[field.name])
        }
      }
      reached = try await records(targets.filter { !prefetch.records.contains($0) }, options, &prefetch)
      if reached.isEmpty { return }
    }
  }

  private func follow(
    _ start: [AnyRecord], _ steps: ArraySlice<ReferencePath.Step>, _ options: RequestOptions,
    _ prefetch: inout Prefetch
  ) async throws {
    var reached = start
    for step in steps {
      switch step {
      case .field(let name):
        var targets: [RecordID] = []
        for record in reached {
          guard let field = store.schema[record.type]?[name], field.kind.target != nil else {
            throw BothyError(.invalidQuery, "\(record.type).\(name) isn't a reference and can't be followed.")
          }
          targets += field.targets(of: record[field.name])
        }
        reached = try await records(targets, options, &prefetch)
      case .records(let type, let field):
        let ids = Set(reached.map(\.id)).sorted()
        guard !ids.isEmpty else { return }
        reached = []
        // Within what one condition may hold.
        for start in stride(from: 0, to: ids.count, by: 500) {
          let some = ids[start..<min(start + 500, ids.count)]
          let condition = Self.refers(field, of: store.schema[type], to: some)
          reached += try await fetchResult(AnyQuery(type, where: condition), options: options).records
        }
        prefetch.records.formUnion(reached.map(\.recordID))
      }
    }
  }

  private static func refers(_ field: String, of type: TypeSchema?, to ids: ArraySlice<String>)
    -> ConditionTree
  {
    if case .references? = type?[field]?.kind { return .or(ids.map { .includes(field: field, .text($0)) }) }
    return .oneOf(field: field, ids.map { .text($0) })
  }

  /// Those of the records that can be had; the others are noted as missing.
  private func records(
    _ ids: [RecordID], _ options: RequestOptions, _ prefetch: inout Prefetch
  ) async throws -> [AnyRecord] {
    let wanted = Set(ids)
    var own = options
    // Local records need not be requested again, unless the call says so.
    if own.readPolicy == nil || own.readPolicy == .remoteElseLocal { own.readPolicy = .localElseRemote }
    do { try await bring(Array(wanted), own) } catch let error as BothyError where error.code == .unreachable
    {
      if options.readPolicy == .remote { throw error }
    }
    let found = try await store.read { transaction in try wanted.compactMap { try transaction.record($0) } }
    prefetch.records.formUnion(found.map(\.recordID))
    prefetch.missing.formUnion(wanted.subtracting(found.map(\.recordID)))
    return found
  }
}

/// The result of a prefetch.
package struct Prefetch: Sendable, Hashable {
  /// The records that were reached and are here, the query's own included.
  package var records: Set<RecordID>
  /// The records that are referred to and not here.
  package var missing: Set<RecordID> = []

  init(records: Set<RecordID>) { self.records = records }

  /// True if everything on the way is here.
  package var isComplete: Bool { missing.isEmpty }
}

/// A way from a record to others, along references: `"author.avatar"` follows the field `author`, then the field
/// `avatar` of what it names. `records(of:by:)` follows references backwards, to the records that refer to this one.
package struct ReferencePath: Sendable, Hashable, ExpressibleByStringLiteral {
  enum Step: Sendable, Hashable {
    case field(String)
    case records(type: String, field: String)
  }

  private(set) var steps: [Step]

  /// The start: the records themselves.
  package init() { steps = [] }

  /// Field names with dots between them.
  package init(_ path: String) { steps = path.split(separator: ".").map { .field(String($0)) } }

  package init(stringLiteral path: String) { self.init(path) }

  /// On to the records of `type` whose reference `field` names one of those here.
  package func records(of type: String, by field: String) -> ReferencePath {
    appending(.records(type: type, field: field))
  }

  private func appending(_ step: Step) -> ReferencePath {
    var path = self
    path.steps.append(step)
    return path
  }
}
