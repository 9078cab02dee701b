import BothyCore

/// The font stacks that a style can ask for: all that its expressions can result in.
///
/// A renderer requests glyphs by the stack that `text-font` results in for a feature. The result is one of a few lists
/// that the style contains. An expression that takes it from the data has no such bound, and is refused.
struct StyleFonts {
  /// The stacks, each as names joined by commas.
  private(set) var stacks: Set<String> = []

  /// The stack of a layer that has text and names no font.
  private static let standard = ["Open Sans Regular", "Arial Unicode MS Regular"]
  /// The most stacks of a style. Each has 256 ranges of glyphs.
  static let mostStacks = 24

  /// The set of results of an expression.
  private typealias Results = Set<[String]>

  /// Adds the stacks of a layer. Throws `BothyError` `invalidSource` if they have no bound.
  mutating func add(_ layer: JSONValue) throws(BothyError) {
    guard layer["type"]?.stringValue == "symbol", let layout = layer["layout"],
      let text = layout["text-field"], !text.isNull
    else { return }
    let id = layer["id"]?.stringValue ?? "?"
    if let font = layout["text-font"] {
      try add(font, id)
    } else {
      try insert([Self.standard], id)
    }
    try addSections(text, id)
  }

  /// Adds the stacks of `format` expressions inside a text, which have fonts of their own.
  private mutating func addSections(_ json: JSONValue, _ id: String) throws(BothyError) {
    switch json {
    case .object(let members):
      if let font = members["text-font"] { try add(font, id) }
      for (name, member) in members where name != "text-font" { try addSections(member, id) }
    case .array(let elements): for element in elements { try addSections(element, id) }
    default: break
    }
  }

  private mutating func add(_ font: JSONValue, _ id: String) throws(BothyError) {
    guard let results = Self.results(of: font, [:]) else {
      throw BothyError(
        .invalidSource,
        "The fonts of the style's layer '\(id)' depend on the data, so their glyphs can't be listed. Use a style whose "
          + "text-font chooses among lists that it contains.")
    }
    try insert(results, id)
  }

  private mutating func insert(_ results: Results, _ id: String) throws(BothyError) {
    for names in results where !names.isEmpty { stacks.insert(names.joined(separator: ",")) }
    guard stacks.count <= Self.mostStacks else {
      throw BothyError(
        .invalidSource, "The style has more than \(Self.mostStacks) font stacks. Use one with fewer fonts.")
    }
  }

  /// Returns all that an expression, a function or a list of names can result in, or `nil` without a bound.
  private static func results(of json: JSONValue, _ variables: [String: Results?]) -> Results? {
    if let stops = json["stops"]?.arrayValue {
      let outputs = stops.compactMap { $0.arrayValue?.last } + [json["default"]].compactMap { $0 }
      return union(outputs, variables)
    }
    guard let elements = json.arrayValue else { return json.isNull ? [] : nil }
    guard let name = elements.first?.stringValue else { return elements.isEmpty ? [] : nil }
    let rest = Array(elements.dropFirst())
    switch name {
    case "literal": return rest.first.flatMap(names).map { [$0] }
    case "step": return union(every(rest.dropFirst(), from: 0), variables)
    case "case": return union(every(rest, from: 1) + odd(rest), variables)
    case "match": return union(every(rest.dropFirst(), from: 1) + odd(Array(rest.dropFirst())), variables)
    case "coalesce": return union(rest, variables)
    case "array": return rest.last.flatMap { results(of: $0, variables) }
    case "var": return rest.first?.stringValue.flatMap { variables[$0] ?? nil }
    case "let":
      var inner = variables
      for place in stride(from: 0, to: rest.count - 2, by: 2) {
        guard let bound = rest[place].stringValue else { return nil }
        inner.updateValue(results(of: rest[place + 1], inner), forKey: bound)
      }
      return rest.last.flatMap { results(of: $0, inner) }
    case _ where operators.contains(name): return nil
    default: return names(json).map { [$0] }
    }
  }

  private static func union(_ outputs: [JSONValue], _ variables: [String: Results?]) -> Results? {
    var all: Results = []
    for output in outputs {
      guard let found = results(of: output, variables) else { return nil }
      all.formUnion(found)
      // More stacks than a style may have are refused anyway.
      if all.count > mostStacks { break }
    }
    return all
  }

  /// Returns every second argument, beginning at one.
  private static func every(_ arguments: some Sequence<JSONValue>, from start: Int) -> [JSONValue] {
    let all = Array(arguments)
    return stride(from: start, to: all.count, by: 2).map { all[$0] }
  }

  /// Returns the last of an odd number of arguments, which applies if no condition does.
  private static func odd(_ arguments: [JSONValue]) -> [JSONValue] {
    arguments.count % 2 == 1 ? arguments.suffix(1) : []
  }

  private static func names(_ json: JSONValue) -> [String]? {
    guard let elements = json.arrayValue else { return nil }
    let names = elements.compactMap(\.stringValue)
    let isUsable = names.allSatisfy { name in
      !name.isEmpty && name.utf8.count <= 200 && name.utf8.allSatisfy { $0 >= 32 && $0 != 127 && $0 != 0x2F }
    }
    return names.count == elements.count && names.count <= 16 && isUsable ? names : nil
  }

  /// The operators of expressions whose result isn't a list of the style's own.
  private static let operators: Set<String> = [
    "get", "at", "slice", "feature-state", "global-state", "config", "properties", "to-string", "string",
    "concat",
    "image", "format", "interpolate", "zoom", "random", "split", "object", "number", "boolean", "collator",
    "interpolate-hcl", "interpolate-lab", "accumulated", "resolved-locale", "within", "distance", "id",
    "geometry-type", "has", "in", "index-of", "length", "upcase", "downcase", "case-insensitive",
    "number-format",
  ]
}
