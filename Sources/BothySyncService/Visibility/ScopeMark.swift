import BothyProtocol
import BothyStore

/// The mark of visibility in cursors: the user, the scope, and the readers of each type with restricted reading. A
/// cursor of other rights thereby names the affected types.
struct ScopeMark: Equatable {
  /// The hash of user and scope. A cursor with another one isn't continued.
  private var base: String
  /// The readers by the types' hashes.
  private var types: [String: String] = [:]
  private var names: [String: String] = [:]
  /// The hash of everything, from the time before types were distinguished.
  private var former: String

  var text: String {
    types.keys.sorted().reduce(base) { $0 + "-" + $1 + (types[$1] ?? "") }
  }

  init(_ scope: SyncScope, _ viewer: Viewer, _ rules: AccessRules) {
    let user = viewer.user
    let whole = [scope.container, String(scope.includesChildren), user.name ?? ""]
    base = Self.hash(whole)
    let declared = rules.schema?.types ?? []
    let groups = rules.usesSharing ? Array(user.names.dropFirst()) : []
    func readers(_ permissions: Permissions?) -> String {
      permissions?[.read] ?? permissions?.read.rawValue ?? ""
    }
    former = Self.hash(
      whole + groups + declared.map { "\($0.name)=\(readers($0.permissions))" })
    for type in declared {
      let key = Self.hash([type.name])
      names[key] = type.name
      if let mark = rules.conditions.mark(of: type.name, for: viewer) {
        types[key] = "E" + mark
        continue
      }
      guard let access = Self.letter(type.permissions?.read) else { continue }
      let readers = access == "S" ? user.names.dropFirst().sorted() : []
      types[key] = access + (readers.isEmpty ? "" : Self.hash(readers))
    }
  }

  /// Returns the types whose visible records differ from those at the time of a mark. Returns `nil` if its cursor can't
  /// be continued. New types that every user can read don't count, because nothing of them was hidden.
  func changed(since mark: String) -> [String]? {
    if mark == former { return [] }
    let parts = mark.split(separator: "-").map(String.init)
    guard parts.first == base else { return nil }
    var before: [String: String] = [:]
    for part in parts.dropFirst() {
      let key = part.prefix { !$0.isUppercase }
      before[String(key)] = String(part.dropFirst(key.count))
    }
    var changed: [String] = []
    for key in Set(before.keys).union(types.keys) where before[key] != types[key] {
      guard let name = names[key] else { return nil }
      changed.append(name)
    }
    return changed.sorted()
  }

  /// Returns the part of a mark for user and scope alone.
  static func base(of mark: String) -> String { mark.split(separator: "-").first.map(String.init) ?? mark }

  /// Returns `nil` for types that every user can read.
  private static func letter(_ access: Permissions.Access?) -> String? {
    switch access {
    case nil, .anyone?: nil
    case .authenticated?: "A"
    case .owner?: "O"
    case .shared?: "S"
    case .nobody?: "N"
    }
  }

  /// Returns the FNV-1a hash of the texts, in 64 bits.
  private static func hash(_ texts: [String]) -> String {
    String(texts.joined(separator: "\u{0}").utf8.fnv1a(), radix: 36)
  }
}
