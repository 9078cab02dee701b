import HTTPTypes

/// The conditions `If-Match` and `If-None-Match` of a request (RFC 9110, 13.1).
struct Preconditions {
  /// One condition: any current state, or one of these entity tags.
  enum Condition: Equatable {
    case any
    case tags([EntityTag])
  }

  struct EntityTag: Equatable {
    var value: String
    var isWeak: Bool
  }

  var ifMatch: Condition?
  var ifNoneMatch: Condition?

  /// Parses the fields. Throws `HTTPFailure` for a field that is neither `*` nor a list of entity tags.
  init(_ headers: HTTPFields) throws {
    ifMatch = try Self.condition(headers, .ifMatch)
    ifNoneMatch = try Self.condition(headers, .ifNoneMatch)
  }

  var isEmpty: Bool { ifMatch == nil && ifNoneMatch == nil }

  /// Returns true if `If-Match` holds for the current tag, or if the field is missing. A tag of `nil` means that the
  /// record doesn't exist.
  func matches(_ current: String?) -> Bool {
    switch ifMatch {
    case nil: true
    case .any: current != nil
    case .tags(let tags): tags.contains { !$0.isWeak && $0.value == current }
    }
  }

  /// Returns true if `If-None-Match` holds, by weak comparison, or if the field is missing.
  func noneMatches(_ current: String?) -> Bool {
    switch ifNoneMatch {
    case nil: true
    case .any: current == nil
    case .tags(let tags): !tags.contains { $0.value == current }
    }
  }

  private static func condition(_ headers: HTTPFields, _ name: HTTPField.Name) throws -> Condition? {
    guard let text = headers[name] else { return nil }
    var rest = text.utf8[...]
    trim(&rest)
    if rest.elementsEqual("*".utf8) { return .any }
    var tags: [EntityTag] = []
    while !rest.isEmpty {
      guard let tag = tag(&rest) else {
        throw HTTPFailure.badRequest(#"\#(name) is * or a list of entity tags like "17"."#)
      }
      tags.append(tag)
      trim(&rest)
      if rest.first == UInt8(ascii: ",") { rest.removeFirst() }
      trim(&rest)
    }
    return .tags(tags)
  }

  private static func tag(_ rest: inout Substring.UTF8View) -> EntityTag? {
    let isWeak = rest.starts(with: "W/".utf8)
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.first == UInt8(ascii: "\"") else { return nil }
    rest.removeFirst()
    guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    let value = String(Substring(rest[..<end]))
    rest = rest[rest.index(after: end)...]
    return EntityTag(value: value, isWeak: isWeak)
  }

  private static func trim(_ rest: inout Substring.UTF8View) {
    rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
  }
}
