import BothyStore

/// A place in a space's history, handed to devices as an opaque token: epoch, position and a mark of what the
/// principal may see in the scope.
struct Cursor: Equatable {
  var epoch: String
  var position: Int64
  var scopeMark: String
  /// Of a snapshot that goes on: the head when it began. What was deleted before is in none of its pages, so it may go
  /// on for as long as deletions since then are remembered.
  var began: Int64?

  var token: String { "\(epoch).\(position).\(scopeMark)" + (began.map { ".\($0)" } ?? "") }

  init(epoch: String, position: Int64, scopeMark: String, began: Int64? = nil) {
    self.epoch = epoch
    self.position = position
    self.scopeMark = scopeMark
    self.began = began
  }

  /// Nil for text that no server of this kind gave out.
  init?(token: String) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard (3...4).contains(parts.count), let position = Int64(parts[1]), position >= 0 else { return nil }
    self.init(epoch: String(parts[0]), position: position, scopeMark: String(parts[2]))
    guard parts.count == 4 else { return }
    guard let began = Int64(parts[3]) else { return nil }
    self.began = began
  }
}

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
