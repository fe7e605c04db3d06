//! libNVVM, loaded when the test runs.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    ptr,
};

use libloading::{Library, Symbol};

/// A libNVVM.
pub struct LibNvvm {
    library: Library,
}

type Program = *mut c_void;

/// Why there is no PTX.
pub enum Refusal {
    /// libNVVM does not know the architecture.
    UnknownOption,
    /// What it says of the module.
    Said(String),
}

/// `NVVM_ERROR_INVALID_OPTION`.
const INVALID_OPTION: c_int = 7;

impl LibNvvm {
    /// The first that can be loaded.
    pub fn find() -> Option<Self> {
        // SAFETY: NVIDIA's library does nothing when it is loaded.
        let load = |file| unsafe { Library::new(file) }.ok();
        let library = super::candidates().into_iter().find_map(load)?;
        Some(Self { library })
    }

    /// A function of the library.
    fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: each caller names the type that nvvm.h has for the name.
        unsafe { self.library.get(name.as_bytes()) }.expect("every libNVVM has it")
    }

    /// The version of the dialect that it reads.
    pub fn ir_version(&self) -> [i32; 4] {
        let mut version = [0; 4];
        let [a, b, c, d] = &mut version;
        let ask = self.function::<unsafe extern "C" fn(_, _, _, _) -> c_int>("nvvmIRVersion");
        // SAFETY: four places for the four numbers.
        unsafe { ask(a, b, c, d) };
        version
    }

    /// The PTX of a module, or what libNVVM has against it.
    pub fn compile(&self, module: &str, arch: &str) -> Result<String, Refusal> {
        let create = self.function::<unsafe extern "C" fn(*mut Program) -> c_int>("nvvmCreateProgram");
        let add = self.function::<unsafe extern "C" fn(Program, *const c_char, usize, *const c_char) -> c_int>(
            "nvvmAddModuleToProgram",
        );
        let destroy = self.function::<unsafe extern "C" fn(*mut Program) -> c_int>("nvvmDestroyProgram");
        let option = CString::new(format!("-arch={arch}")).expect("no zero in it");
        let mut program = ptr::null_mut();
        // SAFETY: the program is made, given a module that outlives it, asked, and destroyed once.
        unsafe {
            create(&mut program);
            let added = add(program, module.as_ptr().cast(), module.len(), c"module".as_ptr());
            let done = match added {
                0 => self.verify_and_compile(program, &option),
                code => Err(code),
            };
            let answer = match done {
                Ok(()) => Ok(self.text(program, "nvvmGetCompiledResultSize", "nvvmGetCompiledResult")),
                Err(INVALID_OPTION) => Err(Refusal::UnknownOption),
                Err(code) => {
                    let log = self.text(program, "nvvmGetProgramLogSize", "nvvmGetProgramLog");
                    Err(Refusal::Said(format!("libNVVM answers {code}: {log}\n{module}")))
                }
            };
            destroy(&mut program);
            answer
        }
    }

    /// # Safety
    ///
    /// `program` is one.
    unsafe fn verify_and_compile(&self, program: Program, option: &CString) -> Result<(), c_int> {
        for step in ["nvvmVerifyProgram", "nvvmCompileProgram"] {
            let step = self.function::<unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int>(step);
            // SAFETY: one option, which outlives the call.
            let code = unsafe { step(program, 1, &option.as_ptr()) };
            if code != 0 {
                return Err(code);
            }
        }
        Ok(())
    }

    /// A text that libNVVM has for a program.
    ///
    /// # Safety
    ///
    /// `program` is one.
    unsafe fn text(&self, program: Program, size: &str, get: &str) -> String {
        let ask_size = self.function::<unsafe extern "C" fn(Program, *mut usize) -> c_int>(size);
        let ask_text = self.function::<unsafe extern "C" fn(Program, *mut c_char) -> c_int>(get);
        let mut size = 0;
        // SAFETY: passed on to the caller.
        unsafe { ask_size(program, &mut size) };
        let mut text = vec![0_u8; size];
        // SAFETY: the buffer has the size that was asked for.
        unsafe { ask_text(program, text.as_mut_ptr().cast()) };
        String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned()
    }
}
