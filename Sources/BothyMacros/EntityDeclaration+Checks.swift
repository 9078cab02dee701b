import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// Checks of the properties of an entity, made on the source text alone. They report mistakes at the property that the
/// compiler reports only in generated code.
extension EntityDeclaration {
  func check(
    _ property: EntityProperty, _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax,
    problems: inout Problems
  ) {
    let name = property.name.plainText
    if property.isTransient {
      if !property.startsWithValue { problems.add(.transientWithoutValue(name), at: binding) }
      return
    }
    if property.isLazy {
      return problems.add(
        .lazyField(name), at: variable, fixIts: [.add(attribute: "NotStored", to: variable)])
    }
    checkValue(property, variable, problems: &problems)
    if property.options.name == nil, !name.isSchemaName {
      problems.add(
        .invalidFieldName(name), at: binding.pattern,
        fixIts: [.add(attribute: "Named(\"<#name#>\")", to: variable)])
    }
    guard let type = property.type else {
      let fixIts = binding.initializer?.value.likelyType.map { [typed(binding, as: $0)] } ?? []
      return problems.add(.typeMissing(name), at: binding.pattern, fixIts: fixIts)
    }
    // The position comes from the written type, because the trimmed copy has none.
    let place = binding.typeAnnotation.map { Syntax($0.type) } ?? Syntax(binding)
    check(type, place, problems: &problems)
    checkOptions(property, type, variable, place, problems: &problems)
  }

  func check(
    id property: EntityProperty, _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax,
    problems: inout Problems
  ) {
    if let type = property.type, !["String", "Swift.String"].contains(type.description) {
      let fixIts: [FixIt] =
        binding.typeAnnotation.map { [.replace($0.type, with: TypeSyntax("String"))] } ?? []
      problems.add(
        .idType(type.description), at: binding.typeAnnotation.map { Syntax($0.type) } ?? Syntax(binding),
        fixIts: fixIts)
    }
    for marker in variable.attributes.fieldMarkers {
      problems.add(.idOption(option: marker.plainName), at: marker)
    }
    checkValue(property, variable, problems: &problems)
  }

  private func checkValue(
    _ property: EntityProperty, _ variable: VariableDeclSyntax, problems: inout Problems
  ) {
    guard property.isLet, property.initialValue != nil else { return }
    let specifier = variable.bindingSpecifier
    problems.add(
      .letWithValue(property.name.plainText), at: specifier,
      fixIts: [.replace(specifier, with: specifier.with(\.tokenKind, .keyword(.var)))])
  }

  private func check(_ type: TypeSyntax, _ place: Syntax, problems: inout Problems) {
    let text = type.trimmedDescription
    if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      let optional = OptionalTypeSyntax(wrappedType: unwrapped.wrappedType.trimmed)
      return problems.add(
        .implicitlyUnwrapped(unwrapped.wrappedType.trimmedDescription), at: place,
        fixIts: [.replace(place, with: TypeSyntax(optional))])
    }
    switch type.unwrapped.as(TypeSyntaxEnum.self) {
    case .tupleType, .functionType, .someOrAnyType, .compositionType:
      problems.add(.unsupportedType(text), at: place)
    case .arrayType(let array)
    where array.element.unwrapped.mayBeARecord && !array.element.unwrapped.isKnownValue:
      problems.add(.records(text, of: array.element.unwrapped.trimmedDescription), at: place)
    case .identifierType(let named) where named.name.plainText == structName:
      let reference = text.replacing(structName, with: "Reference<\(structName)>")
      problems.add(
        .record(text, reference: reference), at: place,
        fixIts: [.replace(place, with: TypeSyntax("\(raw: reference)"))])
    default: break
    }
  }

  private func checkOptions(
    _ property: EntityProperty, _ type: TypeSyntax, _ variable: VariableDeclSyntax, _ place: Syntax,
    problems: inout Problems
  ) {
    let marker = { (name: String) in
      variable.attributes.fieldMarkers.first { $0.plainName == name }.map(Syntax.init) ?? place
    }
    if property.options.isFullText, type.unwrapped.isKnownValue, type.unwrapped.plainName != "String" {
      problems.add(.optionNeedsType(option: "FullText", type: "String"), at: marker("FullText"))
    }
    if property.options.isNatural, type.unwrapped.isKnownValue, type.unwrapped.plainName != "String" {
      problems.add(.optionNeedsType(option: "Indexed(natural: true)", type: "String"), at: marker("Indexed"))
    }
    if property.options.onDelete != nil, type.unwrapped.isKnownValue {
      problems.add(.optionNeedsType(option: "OnDelete", type: "Reference"), at: marker("OnDelete"))
    }
    let rule = property.options.onDelete?.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? "nullify"
    if type.plainName == "Reference", rule == "nullify" {
      let optional = OptionalTypeSyntax(wrappedType: type)
      problems.add(
        .nullifyNeedsOptional(property.name.plainText), at: place,
        fixIts: [
          .replace(place, with: TypeSyntax(optional)), .add(attribute: "OnDelete(.cascade)", to: variable),
        ])
    }
  }

  private func typed(_ binding: PatternBindingSyntax, as type: TypeSyntax) -> FixIt {
    var typed = binding
    typed.pattern = binding.pattern.trimmed
    typed.typeAnnotation = TypeAnnotationSyntax(
      colon: .colonToken(trailingTrivia: .space), type: type, trailingTrivia: .space)
    return FixIt(
      message: EntityCorrection.add(": \(type)"),
      changes: [.replace(oldNode: Syntax(binding), newNode: Syntax(typed))])
  }
}

extension TypeSyntax {
  /// The type inside any number of `?`.
  fileprivate var unwrapped: TypeSyntax {
    self.as(OptionalTypeSyntax.self)?.wrappedType.unwrapped ?? self
  }

  /// The name without module and generic arguments.
  fileprivate var plainName: String? {
    self.as(IdentifierTypeSyntax.self)?.name.text ?? self.as(MemberTypeSyntax.self)?.name.text
  }

  /// True if the type is one of the plain values that every entity supports.
  fileprivate var isKnownValue: Bool {
    let known: Set = [
      "Bool", "Int", "Int32", "Int64", "Float", "Double", "Decimal", "String", "URL", "UUID", "Date",
      "CalendarDate", "Data", "Coordinate",
    ]
    return plainName.map(known.contains) ?? false
  }

  /// True unless the name is a reference's, judged by its text: a type alias of a reference ends in `Reference` or
  /// `Ref`.
  fileprivate var mayBeARecord: Bool {
    plainName.map { !$0.hasSuffix("Reference") && !$0.hasSuffix("Ref") } ?? false
  }
}
