import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The errors that the macros report, each with its cause and its correction.
enum EntityProblem: DiagnosticMessage {
  case notAStruct(kind: String)
  case generic
  case privateNested
  case nameNotLiteral
  case flagNotLiteral
  case invalidName(String)
  case invalidTypeName(String)
  case invalidFieldName(String)
  case duplicate(String)
  case indexedName(String)
  case conditional
  case pattern
  case typeMissing(String)
  case letWithValue(String)
  case lazyField(String)
  case transientWithoutValue(String)
  case transientWithOptions(option: String)
  case notStored(option: String)
  case outsideEntity(option: String)
  case idType(String)
  case idComputed
  case idOption(option: String)
  case implicitlyUnwrapped(String)
  case unsupportedType(String)
  case arrayOfValues(String)
  case records(String, of: String)
  case record(String, reference: String)
  case nullifyNeedsOptional(String)
  case optionNeedsType(option: String, type: String)
  case otherAttribute(String, use: String)
  case settingsNotAStruct(kind: String)
  case settingsGeneric
  case settingsPrivateNested
  case settingsName(String)
  case settingWithoutDefault(String)
  case settingsID
  case notForSettings(option: String)
  case notASetting(String)

  var severity: DiagnosticSeverity { .error }
  /// The name of the case, without its associated values.
  var diagnosticID: MessageID {
    MessageID(domain: "Bothy", id: String(String(describing: self).prefix { $0 != "(" }))
  }

  var message: String {
    switch self {
    case .notAStruct(let kind): "Only a struct can be an entity, not \(kind.article)."
    case .generic:
      "An entity can't be generic: its type in the schema has one name and one set of fields."
    case .privateNested:
      "A private struct inside another type can't conform to Entity in an extension. Make it fileprivate."
    case .nameNotLiteral: "The name must be a string literal, because it is part of the stored schema."
    case .flagNotLiteral: "Write true or false, because it is part of the stored schema."
    case .invalidName(let name):
      "'\(name)' can't be a name in the schema: use a letter, then letters, digits or '_', at most 64, "
        + "not starting with 'bothy'. The names 'id' and 'rowid' are taken."
    case .invalidTypeName(let name):
      "'\(name)' can't be the name of a type in the schema. Name it with @Entity(\"…\")."
    case .invalidFieldName(let name):
      "'\(name)' can't be the name of a field in the schema. Name it with @Named(\"…\")."
    case .duplicate(let name):
      "Two fields are called '\(name)'. Names of fields differ by more than case."
    case .indexedName(let name):
      "'\(name)' isn't another field of this struct. Write the field's name in the schema."
    case .conditional: "A field can't depend on '#if': the schema must be the same in every build."
    case .pattern: "Declare each field by itself, with its name and type."
    default: propertyMessage
    }
  }

  private var propertyMessage: String {
    switch self {
    case .typeMissing(let name): "Write the type of '\(name)': a macro sees only the text of its value."
    case .letWithValue(let name):
      "'\(name)' could never be read back: a 'let' keeps its initial value. Make it a 'var', "
        + "remove the value, or mark it @NotStored."
    case .lazyField(let name):
      "'\(name)' is lazy and can't be a field. Mark it @NotStored to keep it out of the record."
    case .transientWithoutValue(let name):
      "'\(name)' needs an initial value, because no record holds one for a @NotStored property."
    case .transientWithOptions(let option): "@\(option) has no effect on a @NotStored property."
    case .notStored(let option): "@\(option) belongs on a stored property; this one holds no value."
    case .outsideEntity(let option):
      "@\(option) belongs on a property of a struct marked @Entity or @SettingsGroup."
    case .idType(let type): "The id of an entity is a String, not \(type)."
    case .idComputed: "The id must be stored: a record keeps it when its fields change."
    case .idOption(let option): "@\(option) can't be used on the id, which is always the unique key."
    default: typeMessage
    }
  }

  private var typeMessage: String {
    switch self {
    case .implicitlyUnwrapped(let type): "Declare it optional: '\(type)?'."
    case .unsupportedType(let type):
      "'\(type)' can't be a field. Put the value in a struct that is 'Codable, JSONField'."
    case .arrayOfValues(let type):
      "'\(type)' can't be a field: only references and plain values form lists. Put the array in a struct that is "
        + "'Codable, JSONField'."
    case .records(let type, let record):
      "'\(type)' can't be a field: only references and plain values form lists. Give \(record) a reference to this "
        + "type, and fetch both with '.with(_:by:)'. Or declare a '[Reference<\(record)>]'. If \(record) isn't an "
        + "entity, put the array in a struct that is 'Codable, JSONField'."
    case .record(let type, let reference):
      "'\(type)' can't be a field: a record isn't stored in another. Declare a '\(reference)', and fetch both with "
        + "'.with(_:)'."
    case .nullifyNeedsOptional(let name):
      "'\(name)' must be optional, because it becomes nil when the record it refers to is deleted. "
        + "Or add @OnDelete(.cascade) or @OnDelete(.deny)."
    case .optionNeedsType(let option, let type): "@\(option) needs a field of type \(type)."
    case .otherAttribute(let name, let use): "@\(name) is another library's. Here it is \(use)."
    default: settingsMessage
    }
  }

  private var settingsMessage: String {
    switch self {
    case .settingsNotAStruct(let kind): "Only a struct can be a settings group, not \(kind.article)."
    case .settingsGeneric: "A settings group can't be generic: it has one name and one row."
    case .settingsPrivateNested:
      "A private struct inside another type can't conform to SettingsGroup in an extension. Make it fileprivate."
    case .settingsName(let name):
      "'\(name)' can't be the name of a settings group. Name it with @SettingsGroup(\"…\")."
    case .settingWithoutDefault(let name):
      "'\(name)' needs a default: before anything is stored, settings are their defaults."
    case .settingsID: "A settings group is one row and has no id. Give the property another name."
    case .notForSettings(let option): "@\(option) has no effect on settings, which are one row."
    case .notASetting(let type):
      "'\(type)' can't be a setting: settings hold values, no references to records and no files."
    default: ""
    }
  }

  /// The problem in the words of a struct marked `@SettingsGroup`. Nil for problems of ids, which settings don't have.
  var ofSettings: EntityProblem? {
    switch self {
    case .notAStruct(let kind): .settingsNotAStruct(kind: kind)
    case .generic: .settingsGeneric
    case .privateNested: .settingsPrivateNested
    case .invalidTypeName(let name): .settingsName(name)
    case .idType, .idComputed, .idOption: nil
    case .records(let type, _): .arrayOfValues(type)
    case .record(let type, _): .unsupportedType(type)
    default: self
    }
  }
}

/// A correction that the editor offers.
enum EntityCorrection: FixItMessage {
  case replace(String, String)
  case add(String)

  var fixItID: MessageID { MessageID(domain: "Bothy", id: String(describing: self)) }

  var message: String {
    switch self {
    case .replace(let old, let new): "Replace '\(old)' with '\(new)'"
    case .add(let text): "Add '\(text)'"
    }
  }
}

/// The diagnostics of one expansion, in the order of the source.
struct Problems {
  private(set) var found: [Diagnostic] = []
  /// True if the struct is marked `@SettingsGroup`.
  let areOfSettings: Bool

  init(ofSettings: Bool = false) { areOfSettings = ofSettings }

  mutating func add(_ problem: EntityProblem, at node: some SyntaxProtocol, fixIts: [FixIt] = []) {
    guard let problem = areOfSettings ? problem.ofSettings : problem else { return }
    found.append(Diagnostic(node: node, message: problem, fixIts: fixIts))
  }
}

extension FixIt {
  static func replace(_ old: some SyntaxProtocol, with new: some SyntaxProtocol) -> FixIt {
    FixIt(
      message: EntityCorrection.replace(old.trimmedDescription, new.trimmedDescription),
      changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
  }

  /// Inserts an attribute before a property.
  static func add(attribute: String, to variable: VariableDeclSyntax) -> FixIt {
    var marked = variable.with(\.leadingTrivia, [])
    marked.attributes.insert(.attribute("@\(raw: attribute) "), at: marked.attributes.startIndex)
    return FixIt(
      message: EntityCorrection.add("@\(attribute)"),
      changes: [
        .replace(
          oldNode: Syntax(variable), newNode: Syntax(marked.with(\.leadingTrivia, variable.leadingTrivia)))
      ])
  }
}

extension String {
  fileprivate var article: String { (first.map { "aeiou".contains($0) } ?? false ? "an " : "a ") + self }
}
