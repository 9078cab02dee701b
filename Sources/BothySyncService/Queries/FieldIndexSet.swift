import BothyStore
import Crypto

/// The indexes that a schema needs: those that it declares, and those of the members in force.
///
/// A member in force is a record that meets all of a membership's condition except for the names of users and groups.
/// Records whose membership has ended are many after years, and no request reads them.
struct FieldIndexSet: Sendable {
  /// The indexes by type. A type without an index is missing.
  let types: [String: Set<FieldIndex>]
  /// The version of the schema.
  let version: Int
  /// The condition of each index of a part of the records.
  private let parts: [FieldIndex: Part]
  /// The indexes of the members in force, by the id of the membership.
  private let members: [String: [Member]]

  private struct Part: Sendable {
    let type: TypeSchema
    let query: AnyQuery
  }

  private struct Member: Sendable {
    let caller: PermissionCondition.CallerField
    let index: FieldIndex
  }

  init(_ schema: StoreSchema?, _ memberships: [PermissionCondition.Membership] = []) {
    var types: [String: Set<FieldIndex>] = [:]
    for type in schema?.types ?? [] where type.isSynced {
      var found = Set(type.fields.compactMap { FieldIndex($0, of: type.name) })
      found.formUnion(type.fields.compactMap { FieldIndex(naturalOf: $0, of: type.name) })
      if let words = FieldIndex(wordsOf: type) { found.insert(words) }
      if !found.isEmpty { types[type.name] = found }
    }
    var (parts, members): ([FieldIndex: Part], [String: [Member]]) = ([:], [:])
    for membership in memberships {
      let type = membership.type
      for caller in membership.callers {
        guard let field = type[caller.field], var index = FieldIndex(field, of: type.name) else { continue }
        if let mark = membership.mark {
          index = FieldIndex(index, part: mark)
          parts[index] = Part(type: type, query: AnyQuery(type.name, where: membership.rest))
          types[type.name, default: []].insert(index)
        }
        members[membership.id, default: []].append(Member(caller: caller, index: index))
      }
    }
    (self.types, self.parts, self.members) = (types, parts, members)
    version = schema?.version ?? 0
  }

  var isEmpty: Bool { types.isEmpty }
  var all: Set<FieldIndex> { types.values.reduce(into: []) { $0.formUnion($1) } }

  /// True if this server can decide which records an index has.
  func knows(_ index: FieldIndex) -> Bool { index.part == nil || parts[index] != nil }

  /// Returns the keys of a record with these fields in an index, none without fields.
  ///
  /// Those of another server's part are the keys of all records, because an entry too many is harmless.
  func keys(
    of record: ServerRecord?, _ members: [String: JSONValue]?, in index: FieldIndex
  ) -> Set<[UInt8]> {
    guard let record, let members else { return [] }
    let keys = index.keys(in: members)
    guard index.part != nil else { return keys }
    if let part = parts[index],
      !part.query.holds(AnyRecord(record, members, part.type), part.type)
    {
      return []
    }
    return keys.subtracting(FieldKey.noNames)
  }

  /// Returns the indexes by which the members of a membership are found and counted, one for each field with names.
  func indexes(of membership: PermissionCondition.Membership) -> [FieldIndex] {
    members[membership.id]?.map(\.index) ?? []
  }

  /// Returns the entries of the records that make a user a member. Returns `nil` if no finished index has these alone.
  func ranges(
    of membership: PermissionCondition.Membership, for user: Caller, live: [FieldIndex: Int64]
  ) -> [FieldEntryRange]? {
    guard let name = user.name else { return nil }
    for member in members[membership.id] ?? [] {
      guard member.index.part != nil, let number = live[member.index] else { continue }
      let names = member.caller.isGroup ? user.groups.sorted() : [name]
      guard names.count <= IndexPlan.rangeLimit else { continue }
      return names.map { FieldEntryRange(number, KeyRange(of: FieldKey.key(.text($0)))) }
    }
    return nil
  }
}

extension PermissionCondition.Membership {
  /// The mark of the condition on the membership's own fields, or `nil` if each record that names a user is in force.
  fileprivate var mark: String? {
    guard rest != .all, rest != .and([]) else { return nil }
    return SHA256.hash(data: Array(rest.description.utf8)).prefix(8).hexadecimal
  }
}

extension FieldKey {
  /// The keys of a field that names no user.
  static let noNames: Set<[UInt8]> = [null, key(.text(""))]
}
