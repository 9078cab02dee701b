// Errors that are likely to be caught as cases, answered by the compiler with the right pattern. No symbol here is ever
// called.

extension BothyError {
  @available(
    *, unavailable,
    message: "Compare the code: `catch let error as BothyError where error.code == .unreachable`."
  )
  public static var unreachable: BothyError { BothyError(.unreachable, "") }
  @available(
    *, unavailable,
    message: "Compare the code: `catch let error as BothyError where error.code == .notFound`."
  )
  public static var notFound: BothyError { BothyError(.notFound, "") }
  @available(
    *, unavailable,
    message: "Compare the code: `catch let error as BothyError where error.code == .uniqueViolation`."
  )
  public static var uniqueViolation: BothyError { BothyError(.uniqueViolation, "") }
  @available(
    *, unavailable,
    message: "Compare the code: `catch let error as BothyError where error.code == .signInRequired`."
  )
  public static var signInRequired: BothyError { BothyError(.signInRequired, "") }
  @available(
    *, unavailable,
    message: "Compare the code: `catch let error as BothyError where error.code == .rejected`."
  )
  public static var rejected: BothyError { BothyError(.rejected, "") }
  @available(
    *, unavailable,
    message: "Compare the code: `catch let error as BothyError where error.code == .unreachable`."
  )
  public static func ~= (pattern: BothyError, error: any Error) -> Bool { false }
}
