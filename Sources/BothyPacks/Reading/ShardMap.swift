internal import BothyStore

/// The shards of a type by key. Selects the shards that a condition needs.
struct ShardMap: Sendable {
  private let type: TypeSchema
  private let field: String
  /// The positions of the type's files among the manifest's, in the order of the keys.
  let files: [Int]
  private let keys: [FieldValue]
  private let byKey: [FieldValue: Int]

  /// Returns `nil` for a type whose rows are all in the index.
  init?(of type: TypeSchema, _ manifest: Pack.Manifest) {
    guard let field = manifest.contents.first(where: { $0.type == type.name })?.shardedBy else { return nil }
    self.type = type
    self.field = field
    files = manifest.files.indices.filter { manifest.files[$0].type == type.name }
    keys = files.map { manifest.files[$0].key }
    byKey = Dictionary(zip(keys, 0...), uniquingKeysWith: { first, _ in first })
  }

  /// Returns the quoted name of the index's table with the shard and row of each id.
  static func table(of type: String) -> String { "bothy_ids_\(type)".quotedIdentifier }

  /// Returns the shards that may have records matching the condition, as indexes into `files`.
  ///
  /// The condition's values have the kinds of their fields. `locate` returns the shard of an id.
  func shards(for filter: ConditionTree, locate: (String) throws -> Int?) rethrows -> [Int] {
    try needed(filter, locate).map { $0.sorted() } ?? Array(files.indices)
  }

  /// Returns `nil` if all shards may have matching records.
  private func needed(_ filter: ConditionTree, _ locate: (String) throws -> Int?) rethrows -> Set<Int>? {
    switch filter {
    case .none: return []
    case .and(let parts):
      var needed: Set<Int>?
      for part in parts {
        guard let some = try self.needed(part, locate) else { continue }
        needed = needed?.intersection(some) ?? some
      }
      return needed
    case .or(let parts):
      var needed: Set<Int> = []
      for part in parts {
        guard let some = try self.needed(part, locate) else { return nil }
        needed.formUnion(some)
      }
      return needed
    case .compare("id", .equal, .text(let id)): return Set([try locate(id)].compactMap { $0 })
    case .oneOf("id", let ids) where ids.count <= files.count:
      return Set(try ids.compactMap { id in try id.text.flatMap(locate) })
    case .compare(field, .equal, let key): return Set([byKey[key]].compactMap { $0 })
    case .oneOf(field, let wanted): return Set(wanted.compactMap { byKey[$0] })
    case .compare(field, _, _), .contains(field, _, _), .beginsWith(field, _, _):
      // A condition on the key alone is true for all rows of a shard or for none.
      return Set(keys.indices.filter { position in filter.evaluate(type) { _ in keys[position] } })
    default: return nil
    }
  }
}
