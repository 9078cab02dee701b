import BothyStore

/// The records of a space that a user may see, in terms of a storage's indexes.
///
/// A storage may return other records too. The caller leaves them out by the permissions. A storage never omits a
/// record of a type that isn't restricted, and none that the user owns or that is shared with it.
public struct VisibilityFilter: Sendable, Hashable {
  /// The types of which the user sees only records that it owns or that are shared with it.
  public var restrictedTypes: Set<String>
  /// The user's name in records that it owns; `nil` for a request without a token.
  public var owner: String?
  /// The names of the user and its groups in audiences.
  public var names: [String]
  /// The ids of the lists that the user is a member of.
  ///
  /// By itself or by one of its groups.
  public var lists: Set<String>
  /// The records of types whose readers a condition decides, where indexes find those that the user may see.
  package var sights: [String: ReadableSources] = [:]
  /// The most hidden changes that a storage reads instead of its indexes. Tests set it to 0.
  package var fewChanges = 64

  /// Makes a filter, for the server and its storages.
  public init(restrictedTypes: Set<String>, owner: String?, names: [String], lists: Set<String> = []) {
    self.restrictedTypes = restrictedTypes
    self.owner = owner
    self.names = names
    self.lists = lists
  }

  /// True if the schema hides records of a type from the user. Lists of other users are hidden in any case.
  var hidesTypes: Bool { !sights.isEmpty || restrictedTypes.contains { $0 != UserList.typeName } }

  /// The types of which a storage looks for news under the keys of the user.
  package var keyedTypes: Set<String> {
    restrictedTypes.union(sights.filter { $1.isOwned || $1.isShared }.keys)
  }

  /// The keys of records that the user owns, and of the audiences that include it, or may.
  package var keys: [String] { (owner.map { [VisibilityKey.owner($0)] } ?? []) + audienceKeys }

  /// The keys of the audiences that include the user, or may.
  package var audienceKeys: [String] {
    guard !names.isEmpty else { return [] }
    return names.map(VisibilityKey.user) + lists.sorted().map(VisibilityKey.list) + [VisibilityKey.wide]
  }
}

/// The keys under which a storage's index has records: a letter and a name.
package enum VisibilityKey {
  /// The key of every record.
  package static let everyone = ""
  /// The key of records with an audience of more than `indexedAudience` names.
  package static let wide = "w"
  /// The most names of an audience that are indexed. Each change of the record writes a row for each.
  package static let indexedAudience = 100

  package static func owner(_ name: String) -> String { "o" + name }
  package static func user(_ name: String) -> String { "u" + name }
  package static func list(_ id: String) -> String { "l" + id }
  /// The key of the notices of a user.
  package static func notices(_ name: String) -> String { "n" + name }
}

extension Audience {
  /// The keys under which a storage's index has a record with this audience.
  package var visibilityKeys: [String] {
    if count > VisibilityKey.indexedAudience { return [VisibilityKey.wide] }
    return users.sorted().map(VisibilityKey.user) + lists.sorted().map(VisibilityKey.list)
  }
}

extension ServerRecord {
  /// The keys under which a storage notes the last change of the record's type.
  package var visibilityKeys: [String] {
    [VisibilityKey.everyone] + (owner.map { [VisibilityKey.owner($0)] } ?? []) + sharing.visibilityKeys
  }
}

/// A key and type of which a storage notes the position of the last change.
package struct VisibilityPlace: Hashable {
  package var key: String
  /// The type of the records; empty for notices.
  package var type: String

  package init(key: String, type: String) {
    self.key = key
    self.type = type
  }

  /// Returns the last positions of the records' changes, by key and type.
  package static func lastPositions(of records: [StoredRecord]) -> [VisibilityPlace: Int64] {
    var last: [VisibilityPlace: Int64] = [:]
    for entry in records {
      for key in entry.record.visibilityKeys {
        last[VisibilityPlace(key: key, type: entry.record.id.type), default: 0].raise(to: entry.position)
      }
    }
    return last
  }

  /// Returns the last positions of the notices, by their users.
  package static func lastPositions(of notices: [VisibilityNotice]) -> [VisibilityPlace: Int64] {
    var last: [VisibilityPlace: Int64] = [:]
    for notice in notices {
      let place = VisibilityPlace(key: VisibilityKey.notices(notice.user), type: "")
      last[place, default: 0].raise(to: notice.position)
    }
    return last
  }
}

extension Int64 {
  fileprivate mutating func raise(to other: Int64) { self = Swift.max(self, other) }
}

/// The keys and types that have changes which a user may see, in the groups that indexes distinguish.
package struct VisibilitySources {
  /// The types of which the user sees every record.
  package var whole: [String] = []
  /// The types of which the user owns records.
  package var owned: [String] = []
  /// The keys and types of records that are shared with the user.
  package var shared: [VisibilityPlace] = []
  /// The restricted types with changes of any user, with those whose readers a condition decides.
  package var restricted: [String] = []
  /// The types of which the user sees the records that its filter's `sights` name.
  package var chosen: [String] = []

  package init() {}

  /// Adds a key and type with news, if they concern the user.
  package mutating func add(_ place: VisibilityPlace, _ filter: VisibilityFilter) {
    let isRestricted = filter.restrictedTypes.contains(place.type)
    let sight = filter.sights[place.type]
    if place.key == VisibilityKey.everyone {
      if isRestricted || sight != nil { restricted.append(place.type) } else { whole.append(place.type) }
      if let sight, sight.namesRecords { chosen.append(place.type) }
    } else if place.key == filter.owner.map(VisibilityKey.owner) {
      if sight?.isOwned ?? isRestricted { owned.append(place.type) }
    } else if sight?.isShared ?? isRestricted {
      shared.append(place)
    }
  }
}
