import BothyProtocol
import BothyStore

/// What decides which records of a scope a principal sees, as a part of its cursors: who asks for what, and how each type
/// is read that not everybody reads. A cursor that was given out under other rights says by it which types they are of.
struct ScopeMark: Equatable {
  /// For whom, and what: a cursor with another one is not continued.
  private var base: String
  /// By the types' hashes.
  private var types: [String: String] = [:]
  private var names: [String: String] = [:]
  /// What was made of all of it before types were told apart.
  private var former: String

  var text: String {
    types.keys.sorted().reduce(base) { $0 + "-" + $1 + (types[$1] ?? "") }
  }

  init(_ scope: PullScope, _ principal: Principal, _ rules: AuthorityRules) {
    let whole = [scope.container, String(scope.includesChildren), principal.name ?? ""]
    base = Self.hash(whole)
    let declared = rules.schema?.types ?? []
    let groups = rules.usesSharing ? Array(principal.names.dropFirst()) : []
    former = Self.hash(
      whole + groups + declared.map { "\($0.name)=\($0.permissions?.read.rawValue ?? "")" })
    for type in declared {
      let key = Self.hash([type.name])
      names[key] = type.name
      guard let access = Self.letter(type.permissions?.read) else { continue }
      let readers = access == "S" ? principal.names.dropFirst().sorted() : []
      types[key] = access + (readers.isEmpty ? "" : Self.hash(readers))
    }
  }

  /// The types of which the principal sees others than when a mark was given out; nil where the cursor it belongs to can't
  /// be continued. What the schema has gained since, for everybody to read, is no change: nothing of it was hidden.
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

  /// What a mark says of whom and what alone.
  static func base(of mark: String) -> String { mark.split(separator: "-").first.map(String.init) ?? mark }

  /// Nil for what everybody reads.
  private static func letter(_ access: Permissions.Access?) -> String? {
    switch access {
    case nil, .anyone?: nil
    case .authenticated?: "A"
    case .owner?: "O"
    case .shared?: "S"
    case .nobody?: "N"
    }
  }

  /// FNV-1a, 64 bits.
  private static func hash(_ texts: [String]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in texts.joined(separator: "\u{0}").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}
