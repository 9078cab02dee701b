import BothyStore

/// One receiver of changes: its address, its secrets, and the changes that it receives.
///
/// The changes of a space are delivered in their order, and may be delivered again after a failure. The
/// status 410 of a response ends all deliveries to it until the server's next start.
public struct Webhook: Sendable, Hashable {
  /// The name, with 1 to 64 letters, digits, `-`, `_` and `.`. The progress is stored under it, so an address may change
  /// and a name may not.
  public let name: String
  /// The address that receives `POST` requests.
  public let url: String
  /// The keys of the signatures. Each delivery is signed by all, so that a key can be replaced without a gap.
  var keys: [[UInt8]]
  /// The types of records that it receives changes of; empty for all.
  public let types: Set<String>
  /// The patterns of the names of spaces that it receives; empty for all.
  let spaces: [SpacePattern]

  /// Creates a webhook. Throws `BothyError` for an invalid name, an unsuitable address or a weak secret.
  ///
  /// - Parameters:
  ///   - secret: the text of a secret's file. Each line is a key of 24 bytes at least, or `whsec_` and a key in Base64.
  ///   - types: the wire names of types; empty for all.
  ///   - spaces: names of spaces, where `*` means any text; empty for all.
  ///   - allowsHTTP: true accepts an address without TLS on another machine.
  public init(
    name: String = "webhook", url: String, secret: String, types: [String] = [], spaces: [String] = [],
    allowsHTTP: Bool = false
  ) throws {
    try self.init(
      name: name, url: url, secret: Array(secret.utf8), types: types, spaces: spaces, allowsHTTP: allowsHTTP)
  }

  /// Like the initialiser with a secret's text, but with the bytes of its file.
  package init(
    name: String = "webhook", url: String, secret: some ContiguousBytesSource, types: [String] = [],
    spaces: [String] = [], allowsHTTP: Bool = false
  ) throws {
    guard (1...64).contains(name.utf8.count), name.isPlain else {
      throw BothyError(
        .invalidValue, "A webhook's name has 1 to 64 letters, digits, '-', '_' and '.'; '\(name)' hasn't.")
    }
    try Self.check(url, allowsHTTP: allowsHTTP)
    self.name = name
    self.url = url
    keys = try RequestSignature.keys(secret.withContiguousBytes { Array($0) }, of: "the webhook '\(name)'")
    self.types = Set(types)
    self.spaces = spaces.map(SpacePattern.init)
  }

  /// Returns true if it receives changes of a space. Compares the name with each pattern, and case counts.
  public func receives(space: String) -> Bool { spaces.isEmpty || spaces.contains { $0.matches(space) } }

  private static func check(_ url: String, allowsHTTP: Bool) throws {
    let isText = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    let isHTTP = url.hasPrefix("http://") && (allowsHTTP || ConfidentialAddress.accepts(url))
    guard isText, url.hasPrefix("https://") || isHTTP else {
      throw BothyError(
        .invalidValue,
        "The webhook's address has to begin with https://. Without TLS, all on the network can read the records; "
          + "allow it with --webhook-allow-http or \"allowHTTP\".")
    }
  }
}

/// A pattern of names, where `*` means any text. Compares byte by byte, like storages.
struct SpacePattern: Sendable, Hashable {
  private let parts: [[UInt8]]

  init(_ text: String) {
    parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
  }

  func matches(_ text: String) -> Bool {
    let name = Array(text.utf8)
    guard parts.count > 1, let first = parts.first, let last = parts.last else { return parts == [name] }
    guard name.starts(with: first), name.count >= first.count + last.count,
      name.suffix(last.count).elementsEqual(last)
    else { return false }
    var rest = name.dropFirst(first.count).dropLast(last.count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.firstRange(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }
}
